/** Static probes (USDT) of a Node.js program, seen by nopal, bpftrace, perf, bcc and gdb. Linux only. */

type IntegerType =
  | "int8" | "int8_t" | "char" | "signed char"
  | "uint8" | "uint8_t" | "unsigned char"
  | "int16" | "int16_t" | "short"
  | "uint16" | "uint16_t" | "unsigned short"
  | "int32" | "int32_t" | "int"
  | "uint32" | "uint32_t" | "unsigned" | "unsigned int"
  | "int64" | "int64_t" | "long" | "long long" | "ssize_t"
  | "uint64" | "uint64_t" | "unsigned long" | "unsigned long long" | "size_t";
type BooleanType = "bool" | "boolean";
type PointerType = "pointer" | "void *" | "uintptr_t" | "void*" | "const void *" | "const void*";
type StringType = "string" | "char *" | "char*" | "const char *" | "const char*";
type CountedType = "buffer";
type FloatType = "float" | "double" | "number";

/** The type of an argument. */
export type ArgType = IntegerType | BooleanType | PointerType | StringType | CountedType | FloatType;

/** A type, or a type with a name that tracers show. */
export type Arg = ArgType | { type: ArgType; name?: string };

/** undefined and null are NULL or 0 for every type. */
type Nothing = undefined | null;

type ValueOfType<T extends ArgType> =
  | Nothing
  | (T extends IntegerType ? number | bigint | boolean
    : T extends BooleanType ? unknown
    : T extends PointerType ? number | bigint | boolean | NodeJS.ArrayBufferView
    : T extends StringType | CountedType ? string | NodeJS.ArrayBufferView
    : number);

type ValueOf<A extends Arg> = A extends ArgType ? ValueOfType<A>
  : A extends { type: infer T extends ArgType } ? ValueOfType<T>
  : never;

/** The values of an event. Those that are missing at the end are 0. */
export type Values<A extends readonly Arg[]> = { [I in keyof A]?: ValueOf<A[I]> };

export interface ProviderOptions {
  /** fire() throws errors instead of emitting one warning: for tests. Default: false. */
  strict?: boolean;
  /** Put the probes into a file below $XDG_RUNTIME_DIR or /run/user instead of a memfd. Default: false. */
  file?: boolean;
}

/** The `code` of an error of this package. */
export type ErrorCode =
  | "NOPAL_BAD_NAME" | "NOPAL_NAME_TAKEN" | "NOPAL_BAD_ARGS" | "NOPAL_NO_MEMORY" | "NOPAL_SYSTEM"
  | "NOPAL_UNSUPPORTED" | "NOPAL_BAD_VALUE";

/** A group of probes. Two providers may have the same name: tracers see the probes of both. */
export class USDTProvider {
  /** @param name 1 to 249 letters, digits, _, - and ., the first a letter or _ */
  constructor(name: string, options?: ProviderOptions);
  readonly name: string;
  /** Are the probes visible to tracers? From enable() until disable(). */
  readonly isEnabled: boolean;
  /**
   * Add a probe with up to 12 values; a "buffer" is two. Tracers see it after the next enable().
   * @throws TypeError for an unknown type; Error with an ErrorCode
   */
  addProbe<const A extends readonly Arg[]>(
    probe: string | { name: string; description?: string },
    ...args: A
  ): USDTProbe<A>;
  /** Add a span: two probes around a function, `name__entry` with up to 11 values and `name__return`. */
  addSpan<const A extends readonly Arg[]>(name: string, ...args: A): USDTSpan<A>;
  /** Make all probes visible to tracers. Call it again after adding more; probes that are traced are not affected. */
  enable(): void;
  /** Remove all probes from tracers. They stay valid, and can be enabled again. */
  disable(): void;
}

/** A probe, made by provider.addProbe(). */
export class USDTProbe<A extends readonly Arg[] = readonly Arg[]> {
  private constructor();
  readonly name: string;
  readonly provider: USDTProvider;
  /** Is the probe being traced? Takes about a nanosecond. */
  readonly isEnabled: boolean;
  /**
   * Fire the probe if it is traced: only then is `values` called. Never throws (unless the
   * provider is strict): an event whose function throws, or whose values do not fit, is not fired,
   * and the first one of a probe emits a process warning with code NOPAL_NOT_FIRED.
   * @returns the probe was fired
   */
  fire(values: () => Values<A>): boolean;
}

/**
 * Two probes around a function, made by provider.addSpan(): NAME__entry(values..., uint64 span_id) and
 * NAME__return(uint64 nanoseconds, string error, uint64 span_id). The id is unique in the process and pairs
 * the two events when calls overlap.
 */
export class USDTSpan<A extends readonly Arg[] = readonly Arg[]> {
  private constructor();
  /** The id of the innermost span around the code that runs now, through awaits and callbacks; 0n: no span is traced. */
  static readonly currentId: bigint;
  readonly entry: USDTProbe<readonly Arg[]>;
  readonly leave: USDTProbe<readonly Arg[]>;
  /** Is one of the two probes being traced? */
  readonly isEnabled: boolean;
  /**
   * Call `body` and return what it returns. While the span is traced, NAME__entry fires before it with the values of
   * `values`, and NAME__return when it has returned or thrown, or when the promise it returned is settled.
   */
  run<R>(values: () => Values<A>, body: (id: bigint) => R): R;
}
