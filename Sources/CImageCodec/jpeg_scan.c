#include "jpeg_internal.h"

#include <string.h>

// The description of a file's only scan, after jpeg_read_header.

/// Copies a table; one that is not in the file stays without codes. False where its symbols exceed their number.
static bool copy_code(const JHUFF_TBL *table, icodec_jpeg_code *code) {
    if (!table) return true;
    unsigned count = 0;
    for (int length = 1; length <= 16; length++) count += table->bits[length];
    memcpy(code->counts, table->bits + 1, sizeof code->counts);
    memcpy(code->symbols, table->huffval, sizeof code->symbols);
    return count <= sizeof code->symbols;
}

static const int natural_order[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

bool icodec_jpeg_scan_of(const icodec_jpeg_core *core, icodec_jpeg_scan *scan) {
    const struct jpeg_decompress_struct *info = &core->info;
    memset(scan, 0, sizeof *scan);
    bool is_gray = info->num_components == 1 && info->jpeg_color_space == JCS_GRAYSCALE;
    bool is_color = info->num_components == 3 && info->jpeg_color_space == JCS_YCbCr;
    if (!is_gray && !is_color) return false;
    if (info->progressive_mode || info->arith_code || info->data_precision != 8) return false;
    if (info->comps_in_scan != info->num_components) return false;
    if (core->at_end || core->damage.code != 0) return false;
    scan->width = info->image_width;
    scan->height = info->image_height;
    scan->components = (uint32_t)info->num_components;
    scan->interval = info->restart_interval;
    scan->offset = (uint64_t)icodec_jpeg_offset(core);
    for (int index = 0; index < info->comps_in_scan; index++) {
        const jpeg_component_info *component = info->cur_comp_info[index];
        if (component != &info->comp_info[index]) return false;
        if (component->dc_tbl_no < 0 || component->dc_tbl_no > 1 || component->ac_tbl_no < 0 || component->ac_tbl_no > 1)
            return false;
        scan->component[index].across = (uint8_t)component->h_samp_factor;
        scan->component[index].down = (uint8_t)component->v_samp_factor;
        scan->component[index].dc = (uint8_t)component->dc_tbl_no;
        scan->component[index].ac = (uint8_t)component->ac_tbl_no;
        if (component->quant_tbl_no < 0 || component->quant_tbl_no >= NUM_QUANT_TBLS) return false;
        const JQUANT_TBL *quantizers = info->quant_tbl_ptrs[component->quant_tbl_no];
        if (!quantizers) return false;
        for (int place = 0; place < DCTSIZE2; place++) {
            unsigned quantizer = quantizers->quantval[natural_order[place]];
            if (quantizer > 255) return false;
            scan->component[index].quantizers[place] = (uint8_t)quantizer;
        }
    }
    for (int number = 0; number < 2; number++)
        if (!copy_code(info->dc_huff_tbl_ptrs[number], &scan->dc[number]) ||
            !copy_code(info->ac_huff_tbl_ptrs[number], &scan->ac[number]))
            return false;
    return true;
}
