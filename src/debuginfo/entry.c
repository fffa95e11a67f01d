/* Attributes of entries. libdw follows links to other files on its own, by names that the file
 * gives: so an attribute that would lead there is as good as absent unless that file is open. */
#include "debuginfo/inside.h"

static bool leads_out(unsigned form)
{
	return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt ||
	       form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 || form == DW_FORM_strp_sup;
}

struct debuginfo *entry_owner(struct debuginfo *di, Dwarf_Die *die)
{
	return di->alt && dwarf_cu_getdwarf(die->cu) == di->alt->dwarf ? di->alt : di;
}

bool entry_attribute(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Attribute *out)
{
	if (!dwarf_attr(die, name, out))
		return false;
	return !leads_out(dwarf_whatform(out)) || (di->alt && entry_owner(di, die) == di);
}

bool entry_reference(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Die *out)
{
	Dwarf_Attribute a;

	return entry_attribute(di, die, name, &a) && dwarf_formref_die(&a, out);
}

bool entry_inherited(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Attribute *out)
{
	Dwarf_Die at = *die, next;

	for (unsigned i = 0; i < 8; i++) {
		if (entry_attribute(di, &at, name, out))
			return true;
		if (!entry_reference(di, &at, DW_AT_abstract_origin, &next) &&
		    !entry_reference(di, &at, DW_AT_specification, &next))
			return false;
		at = next;
	}
	return false;
}

bool entry_number(struct debuginfo *di, Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Word word;

	if (!entry_attribute(di, die, name, &a) || dwarf_formudata(&a, &word))
		return false;
	*out = word;
	return true;
}

bool entry_flag(struct debuginfo *di, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	bool flag;

	return entry_attribute(di, die, name, &a) && !dwarf_formflag(&a, &flag) && flag;
}

struct str entry_name(struct debuginfo *di, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = entry_inherited(di, die, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;

	return name ? str_from(name) : STR("");
}

bool entry_address(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Addr base, low, high;

	if (dwarf_entrypc(die, &low) && dwarf_ranges(die, 0, &base, &low, &high) <= 0)
		return false;
	*out = low;
	return true;
}
