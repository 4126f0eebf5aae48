package tools
func serveMCP() {}
