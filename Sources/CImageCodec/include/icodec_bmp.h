#ifndef ICODEC_BMP_H
#define ICODEC_BMP_H

#include "icodec_common.h"

typedef struct icodec_bmp icodec_bmp;

/// Opens a BMP of Windows or OS/2. `bytes` are in use until it is closed.
icodec_bmp *icodec_bmp_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// Opens a picture of an icon: a BMP without its file header, with a mask of transparent pixels behind the colours.
icodec_bmp *icodec_bmp_open_icon(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

void icodec_bmp_describe(const icodec_bmp *bmp, icodec_description *description);

void icodec_bmp_set_watch(icodec_bmp *bmp, const icodec_watch *watch);

/// Checks that the pixels are there; decodes runs.
bool icodec_bmp_start(icodec_bmp *bmp, icodec_error *error);

/// Reads the next rows as R, G, B, A, from the top.
bool icodec_bmp_rows(icodec_bmp *bmp, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_bmp_close(icodec_bmp *bmp);

typedef struct icodec_ico icodec_ico;

/// Opens the largest picture of an icon or a cursor, and among several of this size the one with the most bits. `bytes` are in use until it
/// is closed.
icodec_ico *icodec_ico_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

void icodec_ico_describe(const icodec_ico *ico, icodec_description *description);

void icodec_ico_set_watch(icodec_ico *ico, const icodec_watch *watch);

bool icodec_ico_start(icodec_ico *ico, icodec_error *error);

/// Reads the next rows as R, G, B, A, from the top.
bool icodec_ico_rows(icodec_ico *ico, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_ico_close(icodec_ico *ico);

#endif
