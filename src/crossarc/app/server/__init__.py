"""The web server: parsing over HTTP, with UDPipe's parameters or as JSON, and the page."""
