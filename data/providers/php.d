/* PHP 5.6 to 8, built with --enable-dtrace and run with USE_ZEND_DTRACE=1. Names that do not apply are NULL. */
provider php {
	probe request__startup(const char *request_file, const char *request_uri, const char *request_method);
	probe request__shutdown(const char *request_file, const char *request_uri, const char *request_method);
	probe compile__file__entry(const char *compile_file, const char *compile_file_translated);
	probe compile__file__return(const char *compile_file, const char *compile_file_translated);
	probe execute__entry(const char *request_file, int lineno);
	probe execute__return(const char *request_file, int lineno);
	probe function__entry(const char *function_name, const char *request_file, int lineno, const char *classname, const char *scope);
	probe function__return(const char *function_name, const char *request_file, int lineno, const char *classname, const char *scope);
	probe exception__thrown(const char *classname);
	probe exception__caught(const char *classname);
	probe error(const char *errormsg, const char *request_file, int lineno);
};
