package import ImageCodec
package import Testing

/// Checks that no property of a type is forgotten on its way to another process.
///
/// A property that is new fails here until the test's sample has another value of it than the start, and `code(by:)` names it.
///
/// - Parameters:
///   - sample: Differs from the start in all properties.
///   - exceptions: Properties that are not sent, or that the test does not look at.
package func checkFields<Value: WireCodable>(
    of sample: Value, over start: Value, but exceptions: Set<String> = [],
    _ location: SourceLocation = #_sourceLocation
) throws {
    let forgotten = equalProperties(of: sample, and: start).subtracting(exceptions)
    #expect(forgotten.isEmpty, "the sample needs other values of \(forgotten)", sourceLocation: location)
    var (written, read, writer) = (sample, start, WireCoder())
    try written.code(by: &writer)
    var reader = WireCoder(reading: writer.bytes)
    try read.code(by: &reader)
    try reader.end()
    #expect(
        text(of: read) == text(of: sample), "code(by:) of \(Value.self) misses a property", sourceLocation: location)
}

/// The names of the stored properties that two values have in common, by reflection.
package func equalProperties<Value>(of one: Value, and other: Value) -> Set<String> {
    let pairs = zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
    return Set(pairs.filter { text(of: $0.value) == text(of: $1.value) }.compactMap(\.0.label))
}

private func text(of value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}
