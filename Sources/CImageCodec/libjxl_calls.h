#ifndef ICODEC_LIBJXL_CALLS_H
#define ICODEC_LIBJXL_CALLS_H

#include "libraries.h"

// The functions of libjxl in use, called by pointers that are set when the library is opened, and their types. Those of 0.7 to 0.11 are the same
// except for the functions of profiles: a program is built without libjxl's headers, and uses the version that is installed.

typedef struct JxlDecoderStruct JxlDecoder;

typedef enum {
    JXL_DEC_SUCCESS = 0,
    JXL_DEC_ERROR = 1,
    JXL_DEC_NEED_MORE_INPUT = 2,
    JXL_DEC_NEED_IMAGE_OUT_BUFFER = 5,
    JXL_DEC_BOX_NEED_MORE_OUTPUT = 7,
    JXL_DEC_BASIC_INFO = 0x40,
    JXL_DEC_COLOR_ENCODING = 0x100,
    JXL_DEC_FULL_IMAGE = 0x1000,
    JXL_DEC_BOX = 0x4000,
} JxlDecoderStatus;

typedef struct {
    int have_container;
    uint32_t xsize, ysize; // of the upright image
    uint32_t bits_per_sample, exponent_bits_per_sample;
    float intensity_target, min_nits;
    int relative_to_max_display;
    float linear_below;
    int uses_original_profile; // 0: pixels are stored in XYB
    int have_preview, have_animation;
    int orientation;
    uint32_t num_color_channels, num_extra_channels;
    uint32_t alpha_bits, alpha_exponent_bits;
    int alpha_premultiplied;
    uint32_t preview[2], animation[4], intrinsic[2];
    uint8_t padding[100];
} JxlBasicInfo;

enum { JXL_CHANNEL_BLACK = 4 };

typedef struct {
    int type;
    uint32_t bits_per_sample, exponent_bits_per_sample, dim_shift, name_length;
    int alpha_premultiplied;
    float spot_color[4];
    uint32_t cfa_channel;
} JxlExtraChannelInfo;

enum { JXL_TYPE_UINT8 = 2 };

typedef struct {
    uint32_t num_channels;
    int data_type, endianness;
    size_t align;
} JxlPixelFormat;

enum { JXL_COLOR_SPACE_RGB, JXL_COLOR_SPACE_GRAY };
enum { JXL_WHITE_POINT_D65 = 1, JXL_PRIMARIES_SRGB = 1, JXL_TRANSFER_FUNCTION_SRGB = 13, JXL_RENDERING_INTENT_RELATIVE = 1 };

typedef struct {
    int color_space, white_point;
    double white_point_xy[2];
    int primaries;
    double primaries_red_xy[2], primaries_green_xy[2], primaries_blue_xy[2];
    int transfer_function;
    double gamma;
    int rendering_intent;
} JxlColorEncoding;

typedef enum { JXL_COLOR_PROFILE_TARGET_ORIGINAL, JXL_COLOR_PROFILE_TARGET_DATA } JxlColorProfileTarget;

uint32_t JxlDecoderVersion(void);
JxlDecoder *JxlDecoderCreate(const void *memory_manager);
void JxlDecoderDestroy(JxlDecoder *decoder);
JxlDecoderStatus JxlDecoderSubscribeEvents(JxlDecoder *decoder, int events);
JxlDecoderStatus JxlDecoderSetUnpremultiplyAlpha(JxlDecoder *decoder, int is_on);
JxlDecoderStatus JxlDecoderSetInput(JxlDecoder *decoder, const uint8_t *bytes, size_t count);
size_t JxlDecoderReleaseInput(JxlDecoder *decoder);
void JxlDecoderCloseInput(JxlDecoder *decoder);
JxlDecoderStatus JxlDecoderProcessInput(JxlDecoder *decoder);
JxlDecoderStatus JxlDecoderGetBasicInfo(const JxlDecoder *decoder, JxlBasicInfo *info);
JxlDecoderStatus JxlDecoderGetExtraChannelInfo(const JxlDecoder *decoder, size_t index, JxlExtraChannelInfo *info);
JxlDecoderStatus JxlDecoderSetPreferredColorProfile(JxlDecoder *decoder, const JxlColorEncoding *encoding);
JxlDecoderStatus JxlDecoderImageOutBufferSize(const JxlDecoder *decoder, const JxlPixelFormat *format, size_t *size);
JxlDecoderStatus JxlDecoderSetImageOutBuffer(JxlDecoder *decoder, const JxlPixelFormat *format, void *into, size_t size);
JxlDecoderStatus JxlDecoderSetDecompressBoxes(JxlDecoder *decoder, int is_on);
JxlDecoderStatus JxlDecoderGetBoxType(JxlDecoder *decoder, char type[4], int is_decompressed);
JxlDecoderStatus JxlDecoderSetBoxBuffer(JxlDecoder *decoder, uint8_t *into, size_t size);
size_t JxlDecoderReleaseBoxBuffer(JxlDecoder *decoder);

// Until 0.8 these have a format as the second parameter, which is not used: they are called by one of two types.
void JxlDecoderGetColorAsEncodedProfile(void);
void JxlDecoderGetICCProfileSize(void);
void JxlDecoderGetColorAsICCProfile(void);

typedef JxlDecoderStatus icodec_jxl_encoding_07(
    const JxlDecoder *decoder, const JxlPixelFormat *unused, JxlColorProfileTarget target, JxlColorEncoding *encoding);
typedef JxlDecoderStatus icodec_jxl_encoding_09(const JxlDecoder *decoder, JxlColorProfileTarget target, JxlColorEncoding *encoding);
typedef JxlDecoderStatus icodec_jxl_profile_size_07(
    const JxlDecoder *decoder, const JxlPixelFormat *unused, JxlColorProfileTarget target, size_t *size);
typedef JxlDecoderStatus icodec_jxl_profile_size_09(const JxlDecoder *decoder, JxlColorProfileTarget target, size_t *size);
typedef JxlDecoderStatus icodec_jxl_profile_07(
    const JxlDecoder *decoder, const JxlPixelFormat *unused, JxlColorProfileTarget target, uint8_t *icc, size_t size);
typedef JxlDecoderStatus icodec_jxl_profile_09(const JxlDecoder *decoder, JxlColorProfileTarget target, uint8_t *icc, size_t size);

#define ICODEC_JXL_CALLS(CALL) \
    CALL(JxlDecoderVersion) CALL(JxlDecoderCreate) CALL(JxlDecoderDestroy) CALL(JxlDecoderSubscribeEvents) \
    CALL(JxlDecoderSetUnpremultiplyAlpha) CALL(JxlDecoderSetInput) CALL(JxlDecoderReleaseInput) \
    CALL(JxlDecoderCloseInput) CALL(JxlDecoderProcessInput) CALL(JxlDecoderGetBasicInfo) \
    CALL(JxlDecoderGetExtraChannelInfo) CALL(JxlDecoderSetPreferredColorProfile) CALL(JxlDecoderImageOutBufferSize) \
    CALL(JxlDecoderSetImageOutBuffer) CALL(JxlDecoderSetDecompressBoxes) CALL(JxlDecoderGetBoxType) \
    CALL(JxlDecoderSetBoxBuffer) CALL(JxlDecoderReleaseBoxBuffer) CALL(JxlDecoderGetColorAsEncodedProfile) \
    CALL(JxlDecoderGetICCProfileSize) CALL(JxlDecoderGetColorAsICCProfile)

typedef struct {
    ICODEC_JXL_CALLS(ICODEC_MEMBER)
} icodec_jxl_calls;

extern icodec_jxl_calls icodec_libjxl;

/// A library that is not installed is ICODEC_UNAVAILABLE.
bool icodec_open_libjxl(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define JxlDecoderVersion icodec_libjxl.JxlDecoderVersion
#define JxlDecoderCreate icodec_libjxl.JxlDecoderCreate
#define JxlDecoderDestroy icodec_libjxl.JxlDecoderDestroy
#define JxlDecoderSubscribeEvents icodec_libjxl.JxlDecoderSubscribeEvents
#define JxlDecoderSetUnpremultiplyAlpha icodec_libjxl.JxlDecoderSetUnpremultiplyAlpha
#define JxlDecoderSetInput icodec_libjxl.JxlDecoderSetInput
#define JxlDecoderReleaseInput icodec_libjxl.JxlDecoderReleaseInput
#define JxlDecoderCloseInput icodec_libjxl.JxlDecoderCloseInput
#define JxlDecoderProcessInput icodec_libjxl.JxlDecoderProcessInput
#define JxlDecoderGetBasicInfo icodec_libjxl.JxlDecoderGetBasicInfo
#define JxlDecoderGetExtraChannelInfo icodec_libjxl.JxlDecoderGetExtraChannelInfo
#define JxlDecoderSetPreferredColorProfile icodec_libjxl.JxlDecoderSetPreferredColorProfile
#define JxlDecoderImageOutBufferSize icodec_libjxl.JxlDecoderImageOutBufferSize
#define JxlDecoderSetImageOutBuffer icodec_libjxl.JxlDecoderSetImageOutBuffer
#define JxlDecoderSetDecompressBoxes icodec_libjxl.JxlDecoderSetDecompressBoxes
#define JxlDecoderGetBoxType icodec_libjxl.JxlDecoderGetBoxType
#define JxlDecoderSetBoxBuffer icodec_libjxl.JxlDecoderSetBoxBuffer
#define JxlDecoderReleaseBoxBuffer icodec_libjxl.JxlDecoderReleaseBoxBuffer
#define JxlDecoderGetColorAsEncodedProfile icodec_libjxl.JxlDecoderGetColorAsEncodedProfile
#define JxlDecoderGetICCProfileSize icodec_libjxl.JxlDecoderGetICCProfileSize
#define JxlDecoderGetColorAsICCProfile icodec_libjxl.JxlDecoderGetColorAsICCProfile
#endif

#endif
