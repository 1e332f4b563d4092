import ImageCache
import ImageProxy

extension Setting {
    /// The settings of the options in image URLs.
    static let imageOptions: [Setting] = [
        numbers("widths", \.imageOptions.widths, 1...65_535, "The allowed widths in pixels (default: any)."),
        numbers(
            "heights", \.imageOptions.heights, 1...65_535,
            "The allowed heights in pixels (default: any; with widths: the widths)."),
        numbers(
            "dprs", \.imageOptions.devicePixelRatios, 0.5...4,
            "The allowed values of dpr (default: any; with widths: 1, 1.5, 2 and 3)."),
        numbers(
            "qualities", \.imageOptions.qualities, 1...100,
            "The allowed values of quality (default: any; with widths: the multiples of 5)."),
        numbers(
            "blurs", \.imageOptions.blurs, 1...250, "The allowed values of blur (default: any; with widths: none)."),
        table(
            "presets", "NAME:OPTIONS;…", \.imageOptions.presets,
            "Named options: card: w=400,h=300,fit=cover; icon: w=32. URLs are then /image/card/PATH."
        ) { name, options in
            do throws(ImagePresets.Failure) {
                _ = try ImagePresets([(name, options)], takesHints: true)
                return nil
            } catch {
                return error.problem
            }
        }.reloadable,
        flag("only-presets", \.imageOptions.needsPreset, "Refuse image URLs whose options are not a preset's name.")
            .reloadable,
        text(
            "default-options", "OPTIONS", \.imageOptions.defaults,
            "Options of each image URL that does not give them itself, such as q=70,metadata=keep."
        ) { text in
            do throws(ImagePresets.Failure) {
                _ = try ImagePresets([], defaults: text)
                return nil
            } catch {
                return error.problem
            }
        }.reloadable,
        table(
            "watermarks", "NAME:FILE;…", \.imageOptions.watermarks,
            "Images that the option watermark lays over others: logo: /etc/imgcache/logo.png."
        ) { _, path in
            do throws(ImageCodecError) { return .success(try WatermarkSetting(path)) } catch {
                return .failure(TableProblem(text: "cannot be used: \(error)"))
            }
        } text: {
            $0.path
        }.reloadable,
        flag(
            "client-hints", \.imageOptions.usesClientHints,
            "Let Sec-CH-DPR, Sec-CH-Width (with w=auto) and Save-Data choose what image URLs leave open."
        )
        .reloadable,
    ]

    /// A list of numbers.
    private static func numbers<Number: LosslessStringConvertible & Comparable & Sendable>(
        _ name: String, _ place: Place<[Number]>, _ range: ClosedRange<Number>, _ help: String
    ) -> Setting {
        Setting(
            name: name, placeholder: "N,…", help: help, shape: .list, isReloadable: true,
            read: { text, configuration in
                var numbers: [Number] = []
                for member in SettingText.list(text) {
                    guard let number = Number(member), range.contains(number) else {
                        let kind = Number.self == Int.self ? "an integer" : "a number"
                        return "\"\(member)\" must be \(kind) from \(range.lowerBound) to \(range.upperBound)"
                    }
                    numbers.append(number)
                }
                configuration[keyPath: place] = numbers
                return nil
            }, text: { $0[keyPath: place].map(\.description).joined(separator: ",") },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    /// The problem with a value.
    struct TableProblem: Error {
        let text: String
    }

    /// A table of texts by name.
    ///
    /// - Parameter problem: Returns the problem with a name and its value, or nil if there is none.
    static func table(
        _ name: String, _ placeholder: String, _ place: Place<[String: String]>, _ help: String,
        problem: @escaping @Sendable (_ name: String, _ value: String) -> String?
    ) -> Setting {
        table(name, placeholder, place, help) { name, text in
            problem(name, text).map { .failure(TableProblem(text: $0)) } ?? .success(text)
        } text: {
            $0
        }
    }

    /// A table of values by name.
    ///
    /// - Parameter value: Makes the value from a name and a text.
    static func table<Value: Sendable>(
        _ name: String, _ placeholder: String, _ place: Place<[String: Value]>, _ help: String,
        value: @escaping @Sendable (_ name: String, _ text: String) -> Result<Value, TableProblem>,
        text: @escaping @Sendable (Value) -> String
    ) -> Setting {
        Setting(
            name: name, placeholder: placeholder, help: help, shape: .table,
            read: { text, configuration in
                var values: [String: Value] = [:]
                for (name, text) in SettingText.table(text) {
                    guard let text else { return "\"\(name)\" must be a name, a colon and its value" }
                    switch value(name, text) {
                    case .failure(let problem): return "\"\(name)\": \(problem.text)"
                    case .success(let value):
                        guard values.updateValue(value, forKey: name) == nil else {
                            return "\"\(name)\" is specified more than once"
                        }
                    }
                }
                configuration[keyPath: place] = values
                return nil
            }, text: { SettingText.text(of: $0[keyPath: place].mapValues(text)) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }
}
