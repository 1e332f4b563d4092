import ArgumentParser
import ImageEffects

/// The options that change pixels, with the names and values of the service's options in URLs. They are declared in the order in which they
/// are applied.
struct ChangeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The part of the upright original to use: 10x20x300x200 (left, top, width, height in pixels), or 10x5x80x60p (percent).",
            valueName: "part"))
    var crop: String?

    @Option(
        help: ArgumentHelp(
            "Remove a border of the upper left pixel's colour, with this tolerance: 0 to 255.", valueName: "n"))
    var trim: String?

    @Option(
        help: ArgumentHelp("Turn clockwise: 0, 90, 180 or 270.", valueName: "degrees"),
        completion: .list(["0", "90", "180", "270"]))
    var rotate = "0"

    @Option(
        help: ArgumentHelp("Mirror horizontally, vertically or both.", valueName: "h|v|hv"),
        completion: .list(["h", "v", "hv"]))
    var flip: String?

    @Option(
        help: ArgumentHelp(
            "Magnify around --fp or the middle, 1 to 10: 2 shows half of width and height.", valueName: "factor"))
    var zoom = "1"

    @Option(
        help: ArgumentHelp(
            "The point that --fit cover and --zoom keep in view, 0,0 (upper left) to 1,1; it replaces --position.",
            valueName: "x,y"))
    var fp: String?

    @Option(help: ArgumentHelp("Blur by a radius of 1 to 250 pixels.", valueName: "pixels"))
    var blur: String?

    @Option(
        help: ArgumentHelp("An unsharp mask of one pixel, 0 to 10; 1 suits a reduced photo.", valueName: "amount"))
    var sharpen = "0"

    @Option(help: ArgumentHelp("0 to 10, as the CSS filter: 0.5 halves it.", valueName: "factor"))
    var brightness = "1"

    @Option(help: ArgumentHelp("0 to 10, as the CSS filter.", valueName: "factor"))
    var contrast = "1"

    @Option(help: ArgumentHelp("0 to 10, as the CSS filter.", valueName: "factor"))
    var saturation = "1"

    @Flag(help: "Grayscale (ITU-R BT.709).")
    var gray = false

    @Option(
        help: ArgumentHelp("Lay an image file of at most 16 megapixels over the result.", valueName: "file"),
        completion: .file())
    var watermark: String?

    @Option(
        help: ArgumentHelp("center, top, left, bottom-right …, or 0.5x0.2.", valueName: "where"))
    var wmPosition = "bottom-right"

    @Option(help: ArgumentHelp("Its width, 1 to 100 percent of the result's.", valueName: "percent"))
    var wmScale = "25"

    @Option(help: ArgumentHelp("Its opacity, 0 to 100 percent.", valueName: "percent"))
    var wmOpacity = "100"

    @Option(
        help: ArgumentHelp("Add a border, 0 to 1000 pixels times --dpr, to the size.", valueName: "pixels"))
    var padding = "0"

    @Option(
        help: ArgumentHelp(
            "Round the corners by 0 to 4096 pixels times --dpr, or max; outside, they are transparent if the format allows it.",
            valueName: "pixels"))
    var radius = "0"

    /// The operations that the options ask for.
    ///
    /// - Throws: An error that names the option with an invalid value.
    var operations: ImageOperations {
        get throws {
            let values = [
                "crop": crop, "trim": trim, "rotate": rotate, "flip": flip, "zoom": zoom, "fp": fp, "blur": blur,
                "sharpen": sharpen, "brightness": brightness, "contrast": contrast, "saturation": saturation,
                "watermark": watermark, "wm-position": wmPosition, "wm-scale": wmScale, "wm-opacity": wmOpacity,
                "padding": padding, "radius": radius,
            ]
            var operations = ImageOperations()
            operations.isGray = gray
            for name in ImageOperations.names {
                guard case .some(.some(let value)) = values[name] else { continue }
                do throws(OptionValueError) { try operations.read(name, value) } catch {
                    throw ValidationError("--\(name) \(error.problem).")
                }
            }
            return operations
        }
    }
}
