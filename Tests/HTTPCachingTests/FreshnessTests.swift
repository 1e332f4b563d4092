import Foundation
import HTTPCaching
import Testing

@Suite("Freshness, RFC 9111 4.2")
struct FreshnessTests {
    @Test("4.2: fresh while freshness_lifetime > current_age")
    func boundary() {
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60"), ago: 59)) == "fresh")
        #expect(
            privateRules.word(get(), stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ago: 60)) == "validate")
    }
}
