"""What bytecode instructions of CPython mean to the compiler, one table for each version.

A table maps names of instructions to operations of `compiler.Reader` or `compiler.Compiler`, with details behind the
name. An instruction that is not in it is an unknown operation; a version without a table has no simple functions. Where
`dis` has resolved a difference (values of arguments, targets of jumps, inline caches) there is none here."""

import sys

from . import reasons
from .reasons import NotSimple

# The same in all versions.
COMMON = {
    "EXTENDED_ARG": ("ignore",),
    "NOP": ("ignore",),
    "LOAD_CONST": ("constant",),
    "LOAD_DEREF": ("load_free",),
    "LOAD_FAST": ("load",),
    "STORE_FAST": ("store",),
    "POP_TOP": ("discard",),
    "BUILD_LIST": ("build", "list"),
    "BUILD_CONST_KEY_MAP": ("build_dictionary_of_keys",),
    "BUILD_MAP": ("build_dictionary",),
    "DICT_UPDATE": ("update_dictionary",),
    "MAP_ADD": ("add_to_dictionary",),
    "LOAD_ASSERTION_ERROR": ("leave",),
    "RAISE_VARARGS": ("leave",),
    "LIST_EXTEND": ("extend_list",),
    "BUILD_TUPLE": ("build", "tuple"),
    "BUILD_SLICE": ("build_slice",),
    "BUILD_STRING": ("build_string",),
    "UNPACK_SEQUENCE": ("unpack",),
    "COMPARE_OP": ("compare",),
    "CONTAINS_OP": ("contains",),
    "IS_OP": ("identity",),
    "IMPORT_NAME": ("import_module",),
    "IMPORT_FROM": ("import_from",),
    "BINARY_SUBSCR": ("subscript",),
    "UNARY_INVERT": ("unary", "invert"),
    "UNARY_NEGATIVE": ("unary", "negative"),
    "UNARY_NOT": ("unary", "not"),
    "JUMP_FORWARD": ("jump",),
    "RETURN_VALUE": ("return_value",),
    "FOR_ITER": ("refuse", reasons.LOOP),
    "GET_ITER": ("refuse", reasons.LOOP),
    "MAKE_FUNCTION": ("refuse", reasons.INNER_FUNCTION),
}

# Operators have instructions of their own, callables take one place on the stack.
V3_9 = {
    **COMMON,
    "BINARY_ADD": ("operate", "+"),
    "BINARY_AND": ("operate", "&"),
    "BINARY_FLOOR_DIVIDE": ("operate", "//"),
    "BINARY_LSHIFT": ("operate", "<<"),
    "BINARY_MODULO": ("operate", "%"),
    "BINARY_MULTIPLY": ("operate", "*"),
    "BINARY_OR": ("operate", "|"),
    "BINARY_POWER": ("operate", "**"),
    "BINARY_RSHIFT": ("operate", ">>"),
    "BINARY_SUBTRACT": ("operate", "-"),
    "BINARY_TRUE_DIVIDE": ("operate", "/"),
    "BINARY_XOR": ("operate", "^"),
    # Numbers and texts are not changed in place, lists are.
    "INPLACE_ADD": ("operate", "+="),
    "INPLACE_AND": ("operate", "&"),
    "INPLACE_FLOOR_DIVIDE": ("operate", "//"),
    "INPLACE_LSHIFT": ("operate", "<<"),
    "INPLACE_MODULO": ("operate", "%"),
    "INPLACE_MULTIPLY": ("operate", "*="),
    "INPLACE_OR": ("operate", "|"),
    "INPLACE_POWER": ("operate", "**"),
    "INPLACE_RSHIFT": ("operate", ">>"),
    "INPLACE_SUBTRACT": ("operate", "-"),
    "INPLACE_TRUE_DIVIDE": ("operate", "/"),
    "INPLACE_XOR": ("operate", "^"),
    "DUP_TOP": ("copy", 1),
    "ROT_TWO": ("swap", 2),
    "ROT_THREE": ("rotate_three",),
    "UNARY_POSITIVE": ("unary", "positive"),
    "LOAD_ATTR": ("load_attribute",),
    "LOAD_GLOBAL": ("load_global",),
    "LOAD_METHOD": ("load_attribute",),
    "CALL_FUNCTION": ("call",),
    "CALL_METHOD": ("call",),
    "CALL_FUNCTION_KW": ("call_named",),
    "CALL_FUNCTION_EX": ("refuse", reasons.ARGUMENTS),
    "FORMAT_VALUE": ("format_value",),
    "JUMP_ABSOLUTE": ("jump",),
    "POP_JUMP_IF_FALSE": ("branch_if_false",),
    "POP_JUMP_IF_TRUE": ("branch_if_true",),
    "JUMP_IF_FALSE_OR_POP": ("branch_if_false", "keep"),
    "JUMP_IF_TRUE_OR_POP": ("branch_if_true", "keep"),
}

# What else is new there is not supported.
V3_10 = dict(V3_9)

# From 3.11 on: one instruction for all operators; callables take two places on the stack, of which one may be NULL.
SINCE_3_11 = {
    **COMMON,
    "CACHE": ("ignore",),
    "COPY_FREE_VARS": ("ignore",),
    "RESUME": ("ignore",),
    "BINARY_OP": ("binary_operator",),
    "COPY": ("copy",),
    "SWAP": ("swap",),
    "PUSH_NULL": ("push_null",),
    "LOAD_GLOBAL": ("load_global_and_null",),
    "CALL": ("call_with_null",),
    "CALL_FUNCTION_EX": ("refuse", reasons.ARGUMENTS),
    "JUMP_BACKWARD": ("refuse", reasons.LOOP),
}

# Jumps have directions.
V3_11 = {
    **SINCE_3_11,
    "PRECALL": ("ignore",),
    "UNARY_POSITIVE": ("unary", "positive"),
    "LOAD_ATTR": ("load_attribute",),
    "LOAD_METHOD": ("load_method_and_null",),
    "KW_NAMES": ("named",),
    "FORMAT_VALUE": ("format_value",),
    "POP_JUMP_FORWARD_IF_FALSE": ("branch_if_false",),
    "POP_JUMP_FORWARD_IF_TRUE": ("branch_if_true",),
    "POP_JUMP_FORWARD_IF_NONE": ("branch_if_none",),
    "POP_JUMP_FORWARD_IF_NOT_NONE": ("branch_if_not_none",),
    "JUMP_IF_FALSE_OR_POP": ("branch_if_false", "keep"),
    "JUMP_IF_TRUE_OR_POP": ("branch_if_true", "keep"),
    "POP_JUMP_BACKWARD_IF_FALSE": ("refuse", reasons.LOOP),
    "POP_JUMP_BACKWARD_IF_TRUE": ("refuse", reasons.LOOP),
    "POP_JUMP_BACKWARD_IF_NONE": ("refuse", reasons.LOOP),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": ("refuse", reasons.LOOP),
}

# From 3.12 on: methods are attributes with a flag; `and` and `or` copy and drop the value themselves.
SINCE_3_12 = {
    **SINCE_3_11,
    "BINARY_SLICE": ("binary_slice",),
    "CALL_INTRINSIC_1": ("intrinsic",),
    "LOAD_ATTR": ("load_attribute_or_method",),
    "LOAD_FAST_CHECK": ("load",),
    "POP_JUMP_IF_FALSE": ("branch_if_false",),
    "POP_JUMP_IF_TRUE": ("branch_if_true",),
    "POP_JUMP_IF_NONE": ("branch_if_none",),
    "POP_JUMP_IF_NOT_NONE": ("branch_if_not_none",),
    "RETURN_CONST": ("return_constant",),
}

V3_12 = {
    **SINCE_3_12,
    "KW_NAMES": ("named",),
    "FORMAT_VALUE": ("format_value",),
}

# Pairs of variables, truth as an instruction, simple formats.
V3_13 = {
    **SINCE_3_12,
    "LOAD_FAST_LOAD_FAST": ("load_two",),
    "STORE_FAST_LOAD_FAST": ("store_and_load",),
    "STORE_FAST_STORE_FAST": ("store_two",),
    "CALL_KW": ("call_named_with_null",),
    "CONVERT_VALUE": ("format_value",),
    "FORMAT_WITH_SPEC": ("format_with",),
    "FORMAT_SIMPLE": ("unary", "str"),
    "TO_BOOL": ("to_bool",),
}

TABLES = {(3, 9): V3_9, (3, 10): V3_10, (3, 11): V3_11, (3, 12): V3_12, (3, 13): V3_13}


def instructions(implementation=sys.implementation.name, version=sys.version_info[:2]):
    """The table of an interpreter, by default of this one."""
    if implementation != "cpython":
        raise NotSimple(reasons.INTERPRETER)
    try:
        return TABLES[tuple(version)]
    except KeyError:
        raise NotSimple(reasons.VERSION + ".".join(map(str, version))) from None
