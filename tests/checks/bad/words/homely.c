static const char *where = "/home/somebody/weir";
