#include "icodec_color.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "liblcms_calls.h"

struct icodec_transform {
    cmsContext context;
    cmsHTRANSFORM transform;
    int pixels;
};

/// The most steps of a conversion; profiles have about five.
enum { icodec_most_steps = 64 };

/// lcms2 reports errors in a profile, which is then treated as unusable.
static void on_error(cmsContext context, cmsUInt32Number code, const char *text) { (void)context, (void)code, (void)text; }

static cmsContext make_context(icodec_error *error) {
    if (!icodec_open_liblcms(error)) return NULL;
    cmsContext context = cmsCreateContext(NULL, NULL);
    if (context) cmsSetLogErrorHandlerTHR(context, on_error);
    else icodec_fail(error, ICODEC_MEMORY, -1, "there is no memory for a colour conversion");
    return context;
}

static uint64_t number(const uint8_t *bytes) {
    return (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 | bytes[3];
}

/// Bytes that lcms2 may take for the steps of a tag of type mpet, each of which may say that it is any part of the profile (ICC.1:2022,
/// section 10.16). A set of curves may do so for each channel.
static uint64_t bytes_of_steps(const uint8_t *tag, size_t count) {
    uint64_t steps = number(tag + 12), parts = 0;
    // The table of their places has to be there.
    if (steps > (count - 16) / 8) return 0;
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t place = number(tag + 16 + step * 8);
        bool is_there = place + 12 <= count;
        bool has_curves = is_there && memcmp(tag + place, "cvst", 4) == 0;
        parts += has_curves ? (uint64_t)tag[place + 8] << 8 | tag[place + 9] : 1;
    }
    return parts * count;
}

/// Refuses a profile that takes far more memory and time than its size.
static bool check_steps(const uint8_t *icc, size_t count, icodec_error *error) {
    if (count < 132) return true;
    uint64_t tags = number(icc + 128);
    // lcms2 reads no profile of more tags.
    for (uint64_t tag = 0; tag < tags && tag < 100 && 132 + tag * 12 + 12 <= count; tag++) {
        uint64_t place = number(icc + 132 + tag * 12 + 4);
        if (place + 16 > count || memcmp(icc + place, "mpet", 4) != 0) continue;
        uint64_t steps = number(icc + place + 12);
        if (steps > icodec_most_steps || bytes_of_steps(icc + place, count - place) > icodec_most_header_bytes)
            return icodec_fail(error, ICODEC_LIMIT, -1, "a colour profile of %u steps", (unsigned)steps);
    }
    return true;
}

static double srgb_light(double value) {
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static bool is_near(double left, double right, double tolerance) { return fabs(left - right) <= tolerance; }

/// Compares the effect of the profile, not its name: primaries and curves must equal those of sRGB within 8-bit precision.
static bool is_srgb(cmsHPROFILE profile) {
    static const struct {
        cmsTagSignature primary, curve;
        double x, y, z; // adapted to D50
    } channels[3] = {
        {cmsSigRedColorantTag, cmsSigRedTRCTag, 0.43607, 0.22249, 0.01392},
        {cmsSigGreenColorantTag, cmsSigGreenTRCTag, 0.38515, 0.71687, 0.09708},
        {cmsSigBlueColorantTag, cmsSigBlueTRCTag, 0.14307, 0.06061, 0.71410},
    };
    if (cmsGetColorSpace(profile) != cmsSigRgbData || cmsIsTag(profile, cmsSigAToB0Tag)) return false;
    for (int index = 0; index < 3; index++) {
        const cmsCIEXYZ *primary = cmsReadTag(profile, channels[index].primary);
        const cmsToneCurve *curve = cmsReadTag(profile, channels[index].curve);
        if (!primary || !curve) return false;
        if (!is_near(primary->X, channels[index].x, 0.003) || !is_near(primary->Y, channels[index].y, 0.003) ||
            !is_near(primary->Z, channels[index].z, 0.003))
            return false;
        for (int step = 0; step <= 32; step++) {
            float value = (float)step / 32;
            if (!is_near(cmsEvalToneCurveFloat(curve, value), srgb_light(value), 0.003)) return false;
        }
    }
    return true;
}

static icodec_transform *finish(cmsContext context, cmsHPROFILE profile, int pixels) {
    cmsUInt32Number from = TYPE_RGBA_8;
    if (pixels == ICODEC_PIXELS_GRAY) from = COLORSPACE_SH(PT_GRAY) | EXTRA_SH(3) | CHANNELS_SH(1) | BYTES_SH(1);
    if (pixels == ICODEC_PIXELS_CMYK) from = TYPE_CMYK_8;
    cmsHPROFILE srgb = cmsCreate_sRGBProfileTHR(context);
    icodec_transform *transform = calloc(1, sizeof *transform);
    if (srgb && transform) {
        transform->context = context;
        transform->pixels = pixels;
        transform->transform =
            cmsCreateTransformTHR(context, profile, from, srgb, TYPE_RGBA_8, INTENT_PERCEPTUAL, 0);
    }
    if (srgb) cmsCloseProfile(srgb);
    if (!transform || !transform->transform) {
        free(transform);
        return NULL;
    }
    return transform;
}

icodec_transform *icodec_transform_create(
    const uint8_t *icc, size_t count, int pixels, bool *is_usable, icodec_error *error) {
    *is_usable = false;
    if (count > UINT32_MAX || !check_steps(icc, count, error)) return NULL;
    cmsContext context = make_context(error);
    if (!context) return NULL;
    cmsHPROFILE profile = cmsOpenProfileFromMemTHR(context, icc, (cmsUInt32Number)count);
    icodec_transform *transform = NULL;
    if (profile) {
        cmsColorSpaceSignature space = cmsGetColorSpace(profile);
        // A gray image may be described by its gray or by the colours that it was made from.
        bool fits = pixels == ICODEC_PIXELS_CMYK ? space == cmsSigCmykData
                                                 : space == cmsSigRgbData ||
                (pixels == ICODEC_PIXELS_GRAY && space == cmsSigGrayData);
        if (fits && pixels == ICODEC_PIXELS_GRAY && space == cmsSigRgbData) pixels = ICODEC_PIXELS_RGBA;
        if (fits && is_srgb(profile)) *is_usable = true;
        else if (fits) transform = finish(context, profile, pixels);
        if (transform) *is_usable = true;
        cmsCloseProfile(profile);
    }
    if (!transform) cmsDeleteContext(context);
    return transform;
}

icodec_transform *icodec_transform_create_from_gamma(double gamma, const double places[8], icodec_error *error) {
    static const double srgb[8] = {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06};
    bool has_places = places[1] > 0 && places[3] > 0 && places[5] > 0 && places[7] > 0, are_srgb = true;
    for (int index = 0; index < 8; index++)
        if (has_places && !is_near(places[index], srgb[index], 0.005)) are_srgb = false;
    // 1/2.2 is how sRGB is written in a gAMA chunk (PNG specification, 11.3.2.2).
    bool is_srgb_gamma = gamma <= 0 || is_near(gamma * 2.2, 1, 0.05);
    if ((are_srgb && is_srgb_gamma) || gamma > 10 || (gamma > 0 && gamma < 0.1)) return NULL;
    cmsContext context = make_context(error);
    if (!context) return NULL;
    const double *used = has_places ? places : srgb;
    cmsCIExyY white = {used[0], used[1], 1};
    cmsCIExyYTRIPLE primaries = {{used[2], used[3], 1}, {used[4], used[5], 1}, {used[6], used[7], 1}};
    static const cmsFloat64Number srgb_curve[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    cmsToneCurve *curve = is_srgb_gamma ? cmsBuildParametricToneCurve(context, 4, srgb_curve)
                                        : cmsBuildGamma(context, 1 / gamma);
    icodec_transform *transform = NULL;
    if (curve) {
        cmsToneCurve *curves[3] = {curve, curve, curve};
        cmsHPROFILE profile = cmsCreateRGBProfileTHR(context, &white, &primaries, curves);
        if (profile) {
            transform = finish(context, profile, ICODEC_PIXELS_RGBA);
            cmsCloseProfile(profile);
        }
        cmsFreeToneCurve(curve);
    }
    if (!transform) cmsDeleteContext(context);
    return transform;
}

bool icodec_transform_apply(
    const icodec_transform *transform, uint8_t *pixels, size_t count, const icodec_watch *watch, icodec_error *error) {
    // lcms2 counts pixels in 32 bits, and leaves a fourth channel that it does not know as it is.
    const size_t step = icodec_watch_step;
    for (size_t done = 0; done < count; done += step) {
        size_t part = count - done < step ? count - done : step;
        if (!icodec_watch_allows(watch, error)) return false;
        uint8_t *at = pixels + done * 4;
        cmsDoTransform(transform->transform, at, at, (cmsUInt32Number)part);
        if (transform->pixels == ICODEC_PIXELS_CMYK)
            for (size_t index = 0; index < part; index++) at[index * 4 + 3] = 255;
    }
    return true;
}

void icodec_transform_destroy(icodec_transform *transform) {
    if (!transform) return;
    cmsDeleteTransform(transform->transform);
    cmsDeleteContext(transform->context);
    free(transform);
}

bool icodec_profile_description(const uint8_t *icc, size_t count, char *text, size_t capacity) {
    if (count > UINT32_MAX) return false;
    icodec_error error;
    cmsContext context = make_context(&error);
    if (!context) return false;
    cmsHPROFILE profile = cmsOpenProfileFromMemTHR(context, icc, (cmsUInt32Number)count);
    bool done = false;
    if (profile) {
        done = cmsGetProfileInfoASCII(profile, cmsInfoDescription, "en", "US", text, (cmsUInt32Number)capacity) > 0;
        cmsCloseProfile(profile);
    }
    cmsDeleteContext(context);
    return done;
}
