"""The report's figures, one module each: data made from a report, and its drawing as SVG."""
