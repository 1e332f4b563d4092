import ImageCache
import Testing

@testable import ImageProxy

@Suite("Presets")
struct ImagePresetsTests {
    private func presets(_ defaults: String? = nil) throws -> ImagePresets {
        try ImagePresets([("card", "w=400,h=300,fit=cover,format=auto"), ("icon", "w=32")], defaults: defaults)
    }

    @Test func `a preset stands for its options`() throws {
        let reading = try presets().options("card")
        #expect(reading.options == (try ImageOptions("w=400,h=300,fit=cover,format=auto")) && reading.isPreset)
        #expect(try presets().options("w=32").options == presets().options("icon").options)
    }

    @Test func `options after a preset override it, each once`() throws {
        #expect(try presets().options("card,dpr=2,w=200").options == ImageOptions("w=200,h=300,fit=cover,dpr=2"))
        for text in ["card,", "card,card", "card,q=1,q=2", "icon,fit=cover", "q=5,card"] {
            #expect(throws: ImageOptionError.self, "\(text)") { try presets().options(text[...]) }
        }
    }

    @Test func `default options fill in options that a preset or a URL leaves open`() throws {
        let presets = try presets("q=70,metadata=keep,fit=contain")
        #expect(try presets.options("w=9").options == ImageOptions("w=9,q=70,metadata=keep,fit=contain"))
        #expect(try presets.options("card").options.fit == .cover)
        #expect(try presets.options("card").options.quality == 70)
        #expect(try presets.options("w=9,q=5").options.quality == 5)
    }

    @Test func `an unknown preset is refused by name`() throws {
        let error = #expect(throws: ImageOptionError.self) { try presets().options("poster") }
        #expect(error?.message.contains("no preset \"poster\"") == true)
    }

    @Test func `only presets are accepted if they are required`() throws {
        var presets = try presets()
        presets.areRequired = true
        #expect(try presets.options("card").isPreset)
        for text in ["w=400", "card,dpr=2", "card,"] {
            let error = #expect(throws: ImageOptionError.self) { try presets.options(text[...]) }
            #expect(error?.code == "preset-required", "\(text)")
        }
        #expect(throws: ImageOptionError.self) { try presets.options("poster") }
    }

    @Test(arguments: [
        ("", "w=1"), ("a b", "w=1"), ("a=b", "w=1"), ("é", "w=1"), ("a", ""), ("a", "w=0"), ("a", "solarize=1"),
        ("a", "w=9,fit=cover"), ("a", "icon"),
    ])
    func `an unusable preset is a configuration error`(name: String, options: String) {
        let failure = #expect(throws: ImagePresets.Failure.self) { try ImagePresets([(name, options)]) }
        #expect(failure?.name == name)
        #expect(throws: ImagePresets.Failure.self) { try ImagePresets([("a", "w=1"), ("a", "w=2")]) }
        #expect(throws: ImagePresets.Failure.self) { try ImagePresets([], defaults: "w=x") }
    }
}

@Suite("Restricted options")
struct ImageRestrictionsTests {
    private func check(
        _ text: String, _ change: (inout ImageRestrictions) -> Void = { $0.widths = [64, 128] }
    ) throws -> ImageOptions {
        var restrictions = ImageRestrictions()
        change(&restrictions)
        let presets = try ImagePresets(
            [
                ("big", "w=1000,h=999,q=33,blur=7,dpr=1.7"), ("wide", "w=300"), ("still", "w=300,frame=3"),
                ("out", "w=9,h=9,fit=outside"),
            ])
        return try restrictions.checked(presets.options(text[...]))
    }

    @Test(arguments: [
        "w=64", "w=64,h=128", "w=128,h=128,dpr=3,q=65", "w=64,q=80", "w=64,h=64,fit=cover,dpr=1.5",
        "w=64,h=64,fit=cover,gravity=top-left", "w=64,frame=0", "still,w=64",
    ])
    func `restricted widths allow their sizes and presets`(text: String) throws { _ = try check(text) }

    @Test(arguments: [
        "w=65", "h=64", "w=64,h=65", "w=64,h=64,dpr=1.01", "w=64,q=79", "w=64,h=64,blur=1", "w=64,h=64,fit=outside",
        "q=80", "wide,w=301", "big,h=998", "wide,q=7", "w=64,h=64,fit=cover,gravity=0.25x0.5",
        "w=64,h=64,fit=pad,background=ff0001", "w=64,h=64,fit=cover,fp=0.25x0.5", "w=64,frame=1", "w=64,frame=999",
        "still,frame=4", "f=thumbhash",
    ])
    func `restricted widths forbid other sizes and options`(text: String) {
        #expect(throws: ImageRequestError.self) { try check(text) }
    }

    @Test func `a preset may have other values, and those that replace them are checked`() throws {
        #expect(try check("big").width == 1000)
        #expect(try check("big,w=64").width == 64)
        #expect(try check("out").fit == .outside)
        #expect(try check("wide").longestFollowing == ImageOptions.longestSide)
        #expect(try check("still").frame == 3)
        #expect(try check("wide,w=128").longestFollowing == 512, "the width is no longer the operator's")
    }

    @Test func `a side that follows from the proportions is at most four times the longest`() throws {
        #expect(try check("w=64").sizing?.height == 512)
        #expect(
            try check("w=64") {
                $0.widths = [64]; $0.heights = [200]
            }.sizing?.height == 800)
        #expect(try check("w=64") { _ in }.sizing?.height == ImageOptions.longestSide)
        #expect(try check("w=64,dpr=3") { $0.heights = [8000] }.sizing?.height == 8192 / 3)
    }

    @Test func `each list applies on its own, and a refusal names the allowed values`() throws {
        let table: [(String, String, (inout ImageRestrictions) -> Void)] = [
            ("h=5", "\"height\" must be one of 6, 7", { $0.heights = [7, 6] }),
            ("w=5,dpr=2", "\"dpr\" must be one of 1.0, 3.0", { $0.devicePixelRatios = [1, 3] }),
            ("w=5,q=2", "\"quality\" must be one of 50", { $0.qualities = [50] }),
            ("w=5,h=5,blur=2", "\"blur\" must be one of 3", { $0.blurs = [3] }),
            ("w=5,max-bytes=9000", "\"max-bytes\" is allowed in presets alone", { $0.widths = [5] }),
        ]
        for (text, problem, change) in table {
            let error = #expect(throws: ImageRequestError.self) { try check(text, change) }
            guard case .invalidOption(let option) = error else {
                Issue.record("\(text): \(String(describing: error))")
                continue
            }
            #expect(option.message.contains(problem), "\(option.message)")
        }
        #expect(try check("w=5,h=5,blur=3") { $0.blurs = [3] }.effects.blur == 3)
        #expect(try check("w=5") { $0.qualities = [50] }.quality == 80)
    }
}
