/// Three decimals suffice for a chart, in a fifth of the bytes.
func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
