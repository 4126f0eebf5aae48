package display

// Language guesses whether a text is Japanese, Korean or Chinese (ja, ko, zh), so that browsers show
// Han characters in the forms of that language. It is "" for other text.
func Language(s string) string {
	const enough = 4096
	han, seen := false, 0
	for _, r := range s {
		if seen++; seen > enough {
			break
		}
		switch {
		case r < 0x1100:
		case r >= 0x3040 && r <= 0x30ff && r != 0x30fb:
			return "ja"
		case r >= 0xac00 && r <= 0xd7a3 || r < 0x1200:
			return "ko"
		case r >= 0x4e00 && r <= 0x9fff:
			han = true
		}
	}
	if han {
		return "zh"
	}
	return ""
}
