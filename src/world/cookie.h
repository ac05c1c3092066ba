// The mark every default function puts into its def: a def without it was not made that way.
#pragma once

#define KP_DEF_COOKIE 0x4b454c50u
