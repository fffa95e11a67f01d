hello;
