package text

import "strings"

// slips returns how many typing errors a word of n letters may have: none in a short word, two in one of eight letters
// or more.
func slips(n int) int { return min(n/4, 2) }

// atFirst returns the words that one may have meant, if the only slip is in the first letter.
func atFirst(letters []rune) []string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz"
	rest := string(letters[1:])
	out := []string{rest, string(letters[1]) + string(letters[0]) + string(letters[2:])}
	for _, r := range alphabet {
		out = append(out, string(r)+rest, string(r)+string(letters))
	}
	return out
}

// endings of English, German and Spanish words, with spaces around each.
const endings = "  s es ed ing er ers or ion ions ation ations ly e en n em et te ten st t er ern ung ungen end de der a as o os ar ado ada ados adas ando " +
	"amos aba ron iendo ido ida idos idas cion ciones "

// mostEnding is the length of the longest ending, in letters.
const mostEnding = 6

// sameStem reports whether two folded words differ only in their endings.
func sameStem(a, b string) bool {
	const least = 4 // letters of a stem
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for ; n >= least; n-- {
		if isEnding(a[n:]) && isEnding(b[n:]) {
			return true
		}
	}
	return false
}

func isEnding(s string) bool {
	return len(s) <= mostEnding && !strings.Contains(s, " ") && strings.Contains(endings, " "+s+" ")
}
