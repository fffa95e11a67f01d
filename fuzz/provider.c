/* Provider files from strangers: parse, check, and make both outputs, twice, of any input. */
#include <stdint.h>
#include <stdlib.h>

#include "author/author.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const targets[] = {"x86_64", "arm", "s390x", "mips64el"};
	struct provider_file file;
	struct diag diag = DIAG_INIT;
	struct buf header = BUF_INIT, object = BUF_INIT, messages = BUF_INIT;
	struct str text = str_of((const char *)data, size);
	int err;

	provider_open(&file);
	err = provider_parse(&file, STR("p.d"), text, &diag);
	if (!err)
		err = provider_check(&file, &diag);
	if (!err) {
		provider_header(&file, STR("p_h"), true, &header);
		if (provider_object(&file, str_from(targets[size % 4]), size % 3, &object, &diag))
			abort();
		if (header.failed || !header.len || object.len < 52)
			abort();
	} else if (!diag.errors) {
		abort(); /* refused without a word */
	}
	diag_render(&diag, &messages);
	buf_free(&header);
	buf_free(&object);
	buf_free(&messages);
	diag_free(&diag);
	provider_free(&file);
	return 0;
}
