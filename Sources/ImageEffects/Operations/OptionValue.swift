package import ImageCodec

/// The reason why an option cannot have a value.
package struct OptionValueError: Error, Equatable {
    /// The rest of a sentence that begins with the option's name, without its full stop.
    package let problem: String

    package init(_ problem: String) { self.problem = problem }
}

/// The values of options.
package enum OptionValue {
    /// Parses a number with at most two digits behind the point, and some before it.
    package static func decimal(_ text: Substring, digits: Int = 3) -> Double? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...digits).contains(parts[0].utf8.count),
            parts.count == 1 || (1...2).contains(parts[1].utf8.count),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return Double(text)
    }

    /// - Parameter other: Another value, for the message.
    package static func flag(_ text: String, or other: String? = nil) throws(OptionValueError) -> Bool {
        guard let flag = ["1": true, "true": true, "0": false, "false": false][text] else {
            throw OptionValueError("must be 1 or 0, true or false\(other.map { ", or \($0)" } ?? "")")
        }
        return flag
    }

    package static func whole(_ text: String, _ range: ClosedRange<Int>) throws(OptionValueError) -> Int {
        guard let number = number(text, range) else {
            throw OptionValueError("must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// An integer in decimal digits.
    package static func number(_ text: String, _ range: ClosedRange<Int>) -> Int? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text), range.contains(number)
        else { return nil }
        return number
    }

    /// Parses `0`, `1`, `0.25`, `.25`.
    static func share(_ text: Substring) -> Double? {
        guard (1...20).contains(text.utf8.count), text != ".",
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }), let share = Double(text)
        else { return nil }
        return (0...1).contains(share) ? share : nil
    }
}

extension ImageSizing.Position {
    /// Parses a name, or `0.5x0.2`.
    package init?(option text: String) {
        switch text {
        case "auto": self = .attention
        case "entropy": self = .entropy
        case "center", "centre": self = .center
        case "top": self = .top
        case "bottom": self = .bottom
        case "left": self = .left
        case "right": self = .right
        case "top-left": self = .topLeft
        case "top-right": self = .topRight
        case "bottom-left": self = .bottomLeft
        case "bottom-right": self = .bottomRight
        default:
            let parts = text.split(separator: "x", omittingEmptySubsequences: false)
            guard parts.count == 2, let x = OptionValue.share(parts[0]), let y = OptionValue.share(parts[1]) else {
                return nil
            }
            self = .at(x: x, y: y)
        }
    }
}

extension ImageSizing.Color {
    /// Parses `ffcc00`, `fc0`, with or without `#`; `white`, `black`.
    package init?(option text: String) {
        switch text {
        case "white": self = .white
        case "black": self = .black
        default:
            var digits = text.hasPrefix("#") ? String(text.dropFirst()) : text
            if digits.utf8.count == 3 { digits = digits.reduce(into: "") { $0 += "\($1)\($1)" } }
            self.init(hexadecimal: "#" + digits)
        }
    }
}
