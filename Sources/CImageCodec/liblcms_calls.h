#ifndef ICODEC_LIBLCMS_CALLS_H
#define ICODEC_LIBLCMS_CALLS_H

#include <lcms2.h>

#include "libraries.h"

// The functions of lcms2 in use, called by pointers that are set when the library is opened.

#define ICODEC_LCMS_CALLS(CALL) \
    CALL(cmsBuildGamma) CALL(cmsBuildParametricToneCurve) CALL(cmsCloseProfile) CALL(cmsCreateContext) \
    CALL(cmsCreateRGBProfileTHR) CALL(cmsCreateTransformTHR) CALL(cmsCreate_sRGBProfileTHR) CALL(cmsDeleteContext) \
    CALL(cmsDeleteTransform) CALL(cmsDoTransform) CALL(cmsEvalToneCurveFloat) CALL(cmsFreeToneCurve) \
    CALL(cmsGetColorSpace) CALL(cmsGetProfileInfoASCII) CALL(cmsIsTag) CALL(cmsOpenProfileFromMemTHR) \
    CALL(cmsReadTag) CALL(cmsSetLogErrorHandlerTHR)

typedef struct {
    ICODEC_LCMS_CALLS(ICODEC_MEMBER)
} icodec_lcms_calls;

extern icodec_lcms_calls icodec_liblcms;

bool icodec_open_liblcms(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define cmsBuildGamma icodec_liblcms.cmsBuildGamma
#define cmsBuildParametricToneCurve icodec_liblcms.cmsBuildParametricToneCurve
#define cmsCloseProfile icodec_liblcms.cmsCloseProfile
#define cmsCreateContext icodec_liblcms.cmsCreateContext
#define cmsCreateRGBProfileTHR icodec_liblcms.cmsCreateRGBProfileTHR
#define cmsCreateTransformTHR icodec_liblcms.cmsCreateTransformTHR
#define cmsCreate_sRGBProfileTHR icodec_liblcms.cmsCreate_sRGBProfileTHR
#define cmsDeleteContext icodec_liblcms.cmsDeleteContext
#define cmsDeleteTransform icodec_liblcms.cmsDeleteTransform
#define cmsDoTransform icodec_liblcms.cmsDoTransform
#define cmsEvalToneCurveFloat icodec_liblcms.cmsEvalToneCurveFloat
#define cmsFreeToneCurve icodec_liblcms.cmsFreeToneCurve
#define cmsGetColorSpace icodec_liblcms.cmsGetColorSpace
#define cmsGetProfileInfoASCII icodec_liblcms.cmsGetProfileInfoASCII
#define cmsIsTag icodec_liblcms.cmsIsTag
#define cmsOpenProfileFromMemTHR icodec_liblcms.cmsOpenProfileFromMemTHR
#define cmsReadTag icodec_liblcms.cmsReadTag
#define cmsSetLogErrorHandlerTHR icodec_liblcms.cmsSetLogErrorHandlerTHR
#endif

#endif
