#ifndef ICODEC_GIF_LZW_H
#define ICODEC_GIF_LZW_H

#include <stdbool.h>
#include <stdint.h>

enum { lzw_codes = 4096, lzw_slack = lzw_codes + 8 };

/// The state of GIF's variant of LZW (GIF89a, appendix F) in one frame. Its results remain in `output` until they are consumed.
typedef struct {
    // For each code, the first seven bytes of its string, lowest byte first. The highest byte is eight times the length, or 64 for more
    // than seven bytes.
    uint64_t strings[lzw_codes];
    // Of strings of more than seven bytes:
    uint16_t length[lzw_codes];
    uint16_t prefix[lzw_codes]; // the code of all but the last byte
    uint8_t suffix[lzw_codes]; // the last byte
    uint32_t clear; // the code that empties the table; the next one ends the data
    uint32_t next; // free code
    uint32_t width; // of a code in bits
    uint32_t last; // code
    uint64_t last_string; // its entry; 0 after a clear
    uint64_t bits; // read and not used yet, and what comes after them
    uint32_t held; // of them
    uint32_t count; // bytes in the output
} icodec_lzw;

typedef enum { lzw_more, lzw_enough, lzw_end, lzw_broken } lzw_state;

/// - Parameter size: Of a pixel in bits, 1 to 8.
void icodec_lzw_start(icodec_lzw *lzw, uint32_t size);

/// Decodes until the output has `wanted` bytes: `lzw_more` when `*data` is used up before.
///
/// - Parameter output: `wanted` and `lzw_slack` bytes.
lzw_state icodec_lzw_run(
    icodec_lzw *lzw, const uint8_t **data, const uint8_t *end, uint8_t *output, uint32_t wanted);

#endif
