/// A binary heap with the smallest element first.
struct Heap<Element: Comparable> {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        elements[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < elements.count && elements[child] < elements[least] {
                least = child
            }
            guard least != parent else { return first }
            elements.swapAt(parent, least)
            parent = least
        }
    }

    /// Removes the elements that do not satisfy the condition, by rebuilding the heap.
    mutating func filter(_ isIncluded: (Element) -> Bool) {
        let kept = elements.filter(isIncluded)
        elements.removeAll(keepingCapacity: true)
        for element in kept { insert(element) }
    }
}
