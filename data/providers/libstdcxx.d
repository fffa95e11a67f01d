/* GCC's runtime: libstdc++ and libgcc, since GCC 4.7. */
provider libstdcxx {
	probe throw(void *object, void *type_info);
	probe rethrow(void *object, void *type_info);
	probe catch(void *object, void *type_info);
};

provider libgcc {
	probe unwind(void *cfa, void *handler);
};
