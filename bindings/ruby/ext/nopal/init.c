/* Where Ruby enters. */
#include "native.h"

RUBY_FUNC_EXPORTED void Init_native(void);

void Init_native(void)
{
	VALUE nopal = rb_define_module("Nopal");

	rb_ext_ractor_safe(true);
	define_probe(nopal);
	define_provider(nopal);
}
