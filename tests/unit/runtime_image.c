/* The images of run-time probes, for every CPU that has stubs, read back by our own readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "help/image_check.h"

/* A probe with all types from `first` on, as many as fit. */
struct made {
	struct image_probe image;
	const struct value_type *types[NOPAL_MAX_VALUES];
	struct str names[NOPAL_MAX_VALUES];
	char name[32];
};

static void make(struct made *m, unsigned number)
{
	unsigned count = 0;

	snprintf(m->name, sizeof(m->name), "probe%u", number);
	m->image =
		(struct image_probe){str_from(m->name), STR("what it is"), 0, m->types, m->names};
	for (unsigned type = 1 + number % NOPAL_DOUBLE; count < number % 12; type++) {
		const struct value_type *types[2];
		unsigned n = runtime_value_types((enum nopal_type)type, types);

		if (!n || count + n > number % 12)
			break;
		for (unsigned i = 0; i < n; i++) {
			m->types[count] = types[i];
			m->names[count++] = number % 3 ? STR("value") : STR("");
		}
	}
	m->image.value_count = count;
}

static void check_count(unsigned count)
{
	struct made *made = calloc(count + 1, sizeof(*made));
	const struct image_probe **probes = calloc(count + 1, sizeof(*probes));

	for (unsigned i = 0; i < count; i++) {
		make(&made[i], i);
		probes[i] = &made[i].image;
	}
	for (unsigned cpu = 0; cpu < stub_cpu_count; cpu++) {
		const char *why = check_image(&stub_cpus[cpu], STR("app"), probes, count, true);

		if (why)
			fail_msg("row %u, %u probes: %s", cpu, count, why);
	}
	free(probes);
	free(made);
}

static void images_of_any_size_are_read_back(void **state)
{
	(void)state;
	check_count(0);
	check_count(1);
	for (unsigned i = 12; i < 300; i += 47)
		check_count(i);
	check_count(IMAGE_MAX);
}

/* The smallest ones are one page: a memfd takes no less. */
static void a_small_image_is_one_page(void **state)
{
	struct made made[10];
	const struct image_probe *probes[10];
	struct buf bytes = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		make(&made[i], i);
		probes[i] = &made[i].image;
	}
	image_write(&stub_cpus[0], STR("app"), probes, 10, 0, &bytes);
	assert_true(bytes.len <= 4096);
	buf_free(&bytes);
}

static void build_ids_tell_images_apart(void **state)
{
	struct made made[2];
	const struct image_probe *one = &made[0].image, *other = &made[1].image;
	struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
	const size_t at = 288 + 16;

	(void)state;
	make(&made[0], 5);
	make(&made[1], 5);
	image_write(&stub_cpus[0], STR("app"), &one, 1, 0, &a);
	image_write(&stub_cpus[0], STR("app"), &other, 1, 0, &b);
	made[1].name[0] = 'P';
	image_write(&stub_cpus[0], STR("app"), &other, 1, 0, &c);
	assert_memory_equal(a.ptr, b.ptr, a.len); /* the same input, the same bytes */
	assert_memory_not_equal(a.ptr + at, c.ptr + at, 20);
	buf_free(&a);
	buf_free(&b);
	buf_free(&c);
}

/* What the engine asks before it touches a 5-byte nop. */
static void stubs_are_entries_of_functions(void **state)
{
	struct made made;
	const struct image_probe *probe = &made.image;
	struct buf bytes = BUF_INIT;
	struct image *image;
	struct site_list list;
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	make(&made, 7);
	image_write(&stub_cpus[0], STR("app"), &probe, 1, 0, &bytes);
	assert_int_equal(write(fd, bytes.ptr, bytes.len), bytes.len);
	assert_int_equal(image_open_fd(fd, STR("test"), &image, NULL), 0);
	assert_int_equal(site_list_read(image, STR(""), STR(""), &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_true(list.sites[0].is_entry);
	site_list_free(&list);
	image_close(image);
	buf_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_of_any_size_are_read_back),
		cmocka_unit_test(a_small_image_is_one_page),
		cmocka_unit_test(build_ids_tell_images_apart),
		cmocka_unit_test(stubs_are_entries_of_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
