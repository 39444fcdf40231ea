/* A server that streams tokens on a fixed schedule and logs the truth about it.
 *
 * One thread, epoll and one timerfd. Every POST is answered with a chunked event stream:
 * the first token TTFT after the request's last byte arrived, each next one GAP later on
 * an absolute schedule. Stamps (CLOCK_MONOTONIC) are the kernel's for the arrival of a
 * request's last bytes, and our own right before each write; at SIGTERM they go to LOG as
 * records {int64 ns, uint32 stream, int32 token}, token -1 for the request. The stream
 * number stands in each event's "id", by which a client's record is matched.
 *
 * usage: stream_server LOG TTFT_US GAP_US TOKENS CLOSE_AFTER
 * prints "port N" when it listens.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 8192, READ_BYTES = 1 << 20, EVENTS = 512, OUT_BYTES = 2048 };

typedef struct { int64_t ns; uint32_t stream; int32_t token; } Record;

typedef struct Peer {
    int fd, head_length, token;   /* token: next to write, -1 when no answer is due */
    int64_t body_left;            /* bytes of the request's body still to come, -1: in the head */
    int64_t due_ns;
    uint32_t stream;
    struct Peer *next_gone;
    char head[HEAD_BYTES];
} Peer;

static Record *records;
static size_t record_count, record_room;
static Peer **heap;
static int heap_count, heap_room;
static uint32_t stream_count;
static int64_t ttft_ns, gap_ns;
static int token_count, close_after, epoll_fd, timer_fd;
static char scratch[READ_BYTES];
static Peer *gone;                /* freed only after the batch of events that may name them */

static void die(const char *what) { perror(what); exit(1); }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t wall_offset_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec - now_ns();
}

static void log_stamp(uint32_t stream, int32_t token, int64_t ns) {
    if (record_count == record_room) {
        record_room = record_room ? record_room * 2 : 1 << 20;
        records = realloc(records, record_room * sizeof *records);
        if (!records) die("realloc");
    }
    records[record_count++] = (Record){ns, stream, token};
}

static void heap_push(Peer *peer) {
    if (heap_count == heap_room) {
        heap_room = heap_room ? heap_room * 2 : 4096;
        heap = realloc(heap, heap_room * sizeof *heap);
        if (!heap) die("realloc");
    }
    int i = heap_count++;
    for (; i && heap[(i - 1) / 2]->due_ns > peer->due_ns; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = peer;
}

static void heap_sink(int i) {
    Peer *peer = heap[i];
    for (;;) {
        int child = 2 * i + 1;
        if (child >= heap_count) break;
        if (child + 1 < heap_count && heap[child + 1]->due_ns < heap[child]->due_ns) child++;
        if (heap[child]->due_ns >= peer->due_ns) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = peer;
}

static void heap_pop(void) {
    heap[0] = heap[--heap_count];
    if (heap_count) heap_sink(0);
}

static void heap_remove(Peer *peer) {
    for (int i = 0; i < heap_count; i++)
        if (heap[i] == peer) {
            peer->due_ns = 0;
            for (; i; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
            heap[0] = peer;
            heap_pop();
            return;
        }
}

static void hang_up(Peer *peer) {
    if (peer->token >= 0) heap_remove(peer);
    close(peer->fd);
    peer->fd = -1;
    peer->next_gone = gone;
    gone = peer;
}

static void bury(void) {
    while (gone) {
        Peer *next = gone->next_gone;
        free(gone);
        gone = next;
    }
}

static int event_text(char *to, Peer *peer, int token) {
    int last = token == token_count - 1;
    int n = sprintf(to,
        "data: {\"id\":\"cmpl-%08u\",\"object\":\"text_completion\",\"created\":1700000000,"
        "\"model\":\"meta-llama/Meta-Llama-3-8B-Instruct\",\"choices\":[{\"index\":0,"
        "\"text\":\" token%d\",\"logprobs\":null,\"finish_reason\":%s,\"stop_reason\":null}],"
        "\"usage\":null}\n\n", peer->stream, token, last ? "\"length\"" : "null");
    if (last)
        n += sprintf(to + n,
            "data: {\"id\":\"cmpl-%08u\",\"object\":\"text_completion\",\"choices\":[],"
            "\"usage\":{\"prompt_tokens\":1024,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n"
            "data: [DONE]\n\n", peer->stream, token_count, 1024 + token_count);
    return n;
}

/* Writes the due token; 0 when the peer is gone. */
static int write_token(Peer *peer) {
    char text[OUT_BYTES], out[2 * OUT_BYTES];
    int token = peer->token, n = 0;
    int length = event_text(text, peer, token);
    if (token == 0)
        n = sprintf(out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                         "transfer-encoding: chunked\r\n\r\n");
    n += sprintf(out + n, "%x\r\n", length);
    memcpy(out + n, text, length);
    n += length;
    n += sprintf(out + n, "\r\n%s", token == token_count - 1 ? "0\r\n\r\n" : "");
    log_stamp(peer->stream, token, now_ns());
    if (write(peer->fd, out, n) != n) return 0;
    peer->token++;
    return 1;
}

static void write_due(void) {
    while (heap_count && heap[0]->due_ns <= now_ns()) {
        Peer *peer = heap[0];
        if (!write_token(peer)) {
            hang_up(peer);
        } else if (peer->token < token_count) {
            peer->due_ns += gap_ns;
            heap_sink(0);
        } else {
            heap_pop();
            peer->token = -1;
            if (close_after) hang_up(peer);
        }
    }
}

static void arm_timer(void) {
    static int64_t armed_ns;
    if (!heap_count || heap[0]->due_ns == armed_ns) return;
    armed_ns = heap[0]->due_ns;
    struct itimerspec at = {.it_value = {armed_ns / 1000000000, armed_ns % 1000000000}};
    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL)) die("timerfd_settime");
}

static void request_read(Peer *peer, int64_t arrived_ns) {
    peer->stream = stream_count++;
    log_stamp(peer->stream, -1, arrived_ns);
    peer->head_length = 0;
    peer->body_left = -1;
    peer->token = 0;
    peer->due_ns = arrived_ns + ttft_ns;
    heap_push(peer);
}

static void read_head(Peer *peer, const char *bytes, ssize_t count, int64_t arrived_ns) {
    int room = HEAD_BYTES - 1 - peer->head_length;
    int taken = count < room ? (int)count : room;
    memcpy(peer->head + peer->head_length, bytes, taken);
    peer->head[peer->head_length + taken] = 0;
    char *end = strstr(peer->head, "\r\n\r\n");
    peer->head_length += taken;
    if (!end) return;
    char *field = strcasestr(peer->head, "\r\ncontent-length:");
    int64_t body = field ? atoll(field + 17) : 0;
    int64_t after = (peer->head_length - taken) + count - (end + 4 - peer->head);
    peer->body_left = body - after;
    if (peer->body_left <= 0) request_read(peer, arrived_ns);
}

static int64_t arrival_ns(struct msghdr *message) {
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (!control) return now_ns();
    struct timespec t;
    memcpy(&t, CMSG_DATA(control), sizeof t);
    return t.tv_sec * 1000000000LL + t.tv_nsec - wall_offset_ns();
}

static void read_peer(Peer *peer) {
    char control[CMSG_SPACE(sizeof(struct timespec))];
    struct iovec room = {scratch, READ_BYTES};
    struct msghdr message = {
        .msg_iov = &room, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(peer->fd, &message, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) { hang_up(peer); return; }
    if (peer->body_left >= 0) {
        peer->body_left -= count;
        if (peer->body_left <= 0) request_read(peer, arrival_ns(&message));
    } else {
        read_head(peer, scratch, count, arrival_ns(&message));
    }
}

static void watch(int fd, void *what) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
}

static void accept_all(int listener) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (fd < 0) return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        Peer *peer = calloc(1, sizeof *peer);
        if (!peer) die("calloc");
        peer->fd = fd;
        peer->body_left = peer->token = -1;
        watch(fd, peer);
    }
}

static int listen_anywhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (void *)&address, length) || listen(fd, 4096)) die("listen");
    if (getsockname(fd, (void *)&address, &length)) die("getsockname");
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static int catch_stop(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, 0);
}

static void save(const char *path) {
    FILE *log = fopen(path, "wb");
    if (!log || fwrite(records, sizeof *records, record_count, log) != record_count || fclose(log))
        die(path);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: stream_server LOG TTFT_US GAP_US TOKENS CLOSE_AFTER\n");
        return 2;
    }
    ttft_ns = atoll(argv[2]) * 1000;
    gap_ns = atoll(argv[3]) * 1000;
    token_count = atoi(argv[4]);
    close_after = atoi(argv[5]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int stop = catch_stop();
    epoll_fd = epoll_create1(0);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int listener = listen_anywhere();
    watch(stop, &stop);
    watch(timer_fd, &timer_fd);
    watch(listener, &listener);
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            uint64_t expirations;
            if (what == &stop) { save(argv[1]); return 0; }
            if (what == &listener) accept_all(listener);
            else if (what == &timer_fd) { if (read(timer_fd, &expirations, 8) < 0) continue; }
            else if (((Peer *)what)->fd >= 0) read_peer(what);
            write_due();
        }
        write_due();
        bury();
        arm_timer();
    }
}
