/* How long an x86 instruction is: legacy, VEX, EVEX and XOP forms, of 64-bit and 32-bit code.
 *
 * In: bytes of code. Out: the length of the first instruction, or 0 when the bytes are not an
 * instruction, have different lengths on different CPUs, or end within it. For each opcode the
 * tables say what follows it, not what it does. Intel SDM volume 2, appendix A; AMD APM volume 3
 * for XOP. */
#include "arch/cpu.h"

/* What follows an opcode. Immediates: b 1 byte, w 2, z 4 (2 after 66), o as wide as an address.
 *
 *   .  nothing           m  ModRM                    p  legacy prefix
 *   b  immediate b       B  ModRM and b              r  REX prefix
 *   w  immediate w       Z  ModRM and z              2  the table of 0f
 *   z  immediate z       g  ModRM, b if reg is 0, 1  8  ModRM, no memory: control registers
 *   o  address           G  ModRM, z if reg is 0, 1  y  ModRM, in VEX and EVEX only
 *   v  z, 8 with REX.W   j  branch by z              3  ModRM, b as opcode: 3DNow
 *   e  w and b           f  w and z                  q  ModRM, after 66 and f2 two b
 *   V  VEX of 2 bytes    W  VEX of 3 bytes           E  EVEX
 *   X  XOP or ModRM      M  table of 0f 38: ModRM    A  table of 0f 3a: B
 *   _  no instruction
 *
 * V W E are an ordinary opcode with ModRM in 32-bit code, unless ModRM would name a register. */

/* clang-format off */
/*                           0123456789abcdef */
static const char wide[] =  "mmmmbz__mmmmbz_2"  /* 00 */
			    "mmmmbz__mmmmbz__"  /* 10 */
			    "mmmmbzp_mmmmbzp_"  /* 20 */
			    "mmmmbzp_mmmmbzp_"  /* 30 */
			    "rrrrrrrrrrrrrrrr"  /* 40 */
			    "................"  /* 50 */
			    "__Emppp" "pzZbB...." /* 60 */
			    "bbbbbbbbbbbbbbbb"  /* 70 */
			    "BZ_Bmmmmmmmmmmm" "X" /* 80 */
			    ".........." "_....."  /* 90 */
			    "oooo....bz......"  /* a0 */
			    "bbbbbbbbvvvvvvvv"  /* b0 */
			    "BBw.WVBZe.w..b_."  /* c0 */
			    "mmmm___.mmmmmmmm"  /* d0 */
			    "bbbbbbbbjj_b...."  /* e0 */
			    "p.pp..gG......mm"; /* f0 */

/*                           0123456789abcdef */
static const char narrow[] = "mmmmbz..mmmmbz.2" /* 00 */
			    "mmmmbz..mmmmbz.."  /* 10 */
			    "mmmmbzp.mmmmbzp."  /* 20 */
			    "mmmmbzp.mmmmbzp."  /* 30 */
			    "................"  /* 40 */
			    "................"  /* 50 */
			    "..Emppp" "pzZbB...." /* 60 */
			    "bbbbbbbbbbbbbbbb"  /* 70 */
			    "BZBBmmmmmmmmmmm" "X" /* 80 */
			    ".........." "f....."  /* 90 */
			    "oooo....bz......"  /* a0 */
			    "bbbbbbbbvvvvvvvv"  /* b0 */
			    "BBw.WVBZe.w..b.."  /* c0 */
			    "mmmmbb..mmmmmmmm"  /* d0 */
			    "bbbbbbbbjjfb...."  /* e0 */
			    "p.pp..gG......mm"; /* f0 */

/*                           0123456789abcdef */
static const char second[] = "mmmm_....._._m.3" /* 0f 00 */
			    "mmmmmmmmmmmmmmmm"  /* 0f 10 */
			    "8888____mmmmmmmm"  /* 0f 20 */
			    "......_.M_A_____"  /* 0f 30 */
			    "mmmmmmmmmmmmmmmm"  /* 0f 40 */
			    "mmmmmmmmmmmmmmmm"  /* 0f 50 */
			    "mmmmmmmmmmmmmmmm"  /* 0f 60 */
			    "BBBBmmm.qmyymmmm"  /* 0f 70 */
			    "jjjjjjjjjjjjjjjj"  /* 0f 80 */
			    "mmmmmmmmmmmmmmmm"  /* 0f 90 */
			    "...mBmmm...mBmmm"  /* 0f a0 */
			    "mmmmmmmmmmBmmmmm"  /* 0f b0 */
			    "mmBmBBBm........"  /* 0f c0 */
			    "mmmmmmmmmmmmmmmm"  /* 0f d0 */
			    "mmmmmmmmmmmmmmmm"  /* 0f e0 */
			    "mmmmmmmmmmmmmmmm"; /* 0f f0 */
/* clang-format on */

/* Those of the SDM's table 4-12, and what assemblers put before them to make them longer. */
const struct str x86_nops[] = {
	{"\x90", 1},
	{"\x66\x90", 2},
	{"\x0f\x1f\x00", 3},
	{"\x0f\x1f\x40\x00", 4},
	{"\x0f\x1f\x44\x00\x00", 5},
	{"\x66\x0f\x1f\x44\x00\x00", 6},
	{"\x0f\x1f\x80\x00\x00\x00\x00", 7},
	{"\x0f\x1f\x84\x00\x00\x00\x00\x00", 8},
	{"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", 9},
	{"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10},
	{NULL, 0},
};

struct decoder {
	const unsigned char *bytes;
	size_t len;  /* of bytes */
	size_t at;   /* of the next byte */
	bool is_64;  /* 64-bit code */
	bool size66; /* operands of 16 bits */
	bool addr67; /* addresses of half the width */
	bool repeat; /* f2 */
	bool locked; /* any of f0, f2, f3 */
	bool rex, rex_w;
};

static bool take_byte(struct decoder *c, unsigned char *byte)
{
	if (c->at >= c->len)
		return false;
	*byte = c->bytes[c->at++];
	return true;
}

static bool skip_bytes(struct decoder *c, size_t count)
{
	if (c->len - c->at < count)
		return false;
	c->at += count;
	return true;
}

static size_t operand_bytes(const struct decoder *c)
{
	return c->size66 && !c->rex_w ? 2 : 4;
}

/* ModRM, SIB and displacement: SDM tables 2-1 (16-bit addressing), 2-2 and 2-3. */
static bool take_modrm(struct decoder *c, unsigned *reg)
{
	unsigned char modrm, sib = 0;
	unsigned mod, rm;

	if (!take_byte(c, &modrm))
		return false;
	mod = modrm >> 6;
	rm = modrm & 7;
	*reg = modrm >> 3 & 7;
	if (mod == 3)
		return true;
	if (c->addr67 && !c->is_64)
		return skip_bytes(c, mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0);
	if (rm == 4 && !take_byte(c, &sib))
		return false;
	if (mod == 1)
		return skip_bytes(c, 1);
	return mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5) ? skip_bytes(c, 4) : true;
}

static bool skip_modrm(struct decoder *c, size_t immediate)
{
	unsigned reg;

	return take_modrm(c, &reg) && skip_bytes(c, immediate);
}

/* test has an immediate, the others of its group have none. */
static bool skip_group(struct decoder *c, size_t immediate)
{
	unsigned reg;

	return take_modrm(c, &reg) && skip_bytes(c, reg < 2 ? immediate : 0);
}

/* The forms that all tables share. */
static bool skip_operands(struct decoder *c, char form)
{
	switch (form) {
	case '.': return true;
	case 'b': return skip_bytes(c, 1);
	case 'w': return skip_bytes(c, 2);
	case 'z': return skip_bytes(c, operand_bytes(c));
	case 'v': return skip_bytes(c, c->rex_w ? 8 : operand_bytes(c));
	case 'e': return skip_bytes(c, 3);
	case 'f': return skip_bytes(c, 2 + operand_bytes(c));
	case 'o': return skip_bytes(c, c->is_64 ? (c->addr67 ? 4 : 8) : c->addr67 ? 2 : 4);
	case 'j':
		/* 66 before a near branch of 64-bit code: AMD's CPUs cut the distance to 16 bits,
		 * Intel's do not. Where they differ the length is unknown. */
		if (c->is_64)
			return (!c->size66 || c->rex_w) && skip_bytes(c, 4);
		return skip_bytes(c, operand_bytes(c));
	case '8': return skip_bytes(c, 1);
	case 'm': return skip_modrm(c, 0);
	case 'B':
	case '3': return skip_modrm(c, 1);
	case 'Z': return skip_modrm(c, operand_bytes(c));
	case 'g': return skip_group(c, 1);
	case 'G': return skip_group(c, operand_bytes(c));
	default: return false;
	}
}

static bool skip_second(struct decoder *c)
{
	unsigned char opcode;
	char form;

	if (!take_byte(c, &opcode))
		return false;
	form = second[opcode];
	if (form == 'M')
		return skip_bytes(c, 1) && skip_modrm(c, 0);
	if (form == 'A')
		return skip_bytes(c, 1) && skip_modrm(c, 1);
	if (form == 'q') /* extrq and insertq of SSE4a; else vmread */
		return skip_modrm(c, c->size66 || c->repeat ? 2 : 0);
	return skip_operands(c, form);
}

/* An opcode of one of the maps that VEX and EVEX name. */
static bool skip_vector(struct decoder *c, unsigned map)
{
	unsigned char opcode;
	char form;

	if (c->size66 || c->locked || c->rex || !take_byte(c, &opcode))
		return false;
	if (map == 3)
		return skip_modrm(c, 1);
	if (map == 2 || map == 5 || map == 6)
		return skip_modrm(c, 0);
	if (map != 1)
		return false;
	form = second[opcode];
	if (form == 'm' || form == 'y' || form == 'q')
		return skip_modrm(c, 0);
	return opcode == 0x77 || (form == 'B' && skip_modrm(c, 1));
}

/* 8f is pop when its ModRM has 0 as reg, and XOP when it names a map from 8 on. */
static bool skip_xop(struct decoder *c)
{
	unsigned char first;
	unsigned map;

	if (c->at >= c->len)
		return false;
	map = c->bytes[c->at] & 0x1f;
	if (map < 8)
		return skip_modrm(c, 0);
	if (map > 10 || c->size66 || c->locked || c->rex || !take_byte(c, &first))
		return false;
	return skip_bytes(c, 2) && skip_modrm(c, map == 8 ? 1 : map == 9 ? 0 : 4);
}

static bool skip_opcode(struct decoder *c, unsigned char opcode)
{
	char form = (c->is_64 ? wide : narrow)[opcode];
	unsigned char first, second_byte;

	if (form == '2')
		return skip_second(c);
	if (form == 'X')
		return skip_xop(c);
	if (form != 'V' && form != 'W' && form != 'E')
		return skip_operands(c, form);
	/* In 32-bit code the next byte says whether this is VEX or an older instruction. */
	if (!c->is_64 && (c->at >= c->len || c->bytes[c->at] >> 6 != 3))
		return skip_modrm(c, 0);
	if (form == 'V')
		return skip_bytes(c, 1) && skip_vector(c, 1);
	if (!take_byte(c, &first) || !take_byte(c, &second_byte))
		return false;
	if (form == 'W')
		return (first & 0x1f) <= 3 && skip_vector(c, first & 0x1f);
	/* EVEX: bit 3 of the first byte is 0, bit 2 of the second is 1; others are too new. */
	return skip_bytes(c, 1) && !(first & 8) && second_byte & 4 && skip_vector(c, first & 7);
}

/* Prefixes, the last of which may be REX; a REX that another prefix follows has no effect. */
static bool take_prefixes(struct decoder *c, unsigned char *opcode)
{
	const char *table = c->is_64 ? wide : narrow;

	while (take_byte(c, opcode)) {
		char form = table[*opcode];

		if (form != 'p' && form != 'r')
			return true;
		c->size66 |= *opcode == 0x66;
		c->addr67 |= *opcode == 0x67;
		c->repeat |= *opcode == 0xf2;
		c->locked |= *opcode == 0xf0 || *opcode == 0xf2 || *opcode == 0xf3;
		c->rex = form == 'r';
		c->rex_w = form == 'r' && *opcode & 8;
	}
	return false;
}

static unsigned length_of(struct str code, bool is_64)
{
	struct decoder c = {
		.bytes = (const unsigned char *)code.ptr,
		.len = code.len < INSTRUCTION_LONGEST ? code.len : INSTRUCTION_LONGEST,
		.is_64 = is_64,
	};
	unsigned char opcode;

	return take_prefixes(&c, &opcode) && skip_opcode(&c, opcode) ? (unsigned)c.at : 0;
}

unsigned x86_64_length(struct str code)
{
	return length_of(code, true);
}

unsigned i386_length(struct str code)
{
	return length_of(code, false);
}
