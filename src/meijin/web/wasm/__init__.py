"""Games for the browser: rules, searches and nets, compiled to WebAssembly."""
