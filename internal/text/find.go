package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is a word that may be meant by one that no entry has.
type Word struct {
	Word    string
	Slips   int // how far it is from what was asked
	Entries int // how many entries have it
}

// Most is how many similar words are tried in place of one.
const Most = 3

// part is the number of slips of a word that is only part of what was asked, or contains it.
const part = 9

// source has the words of entries, folded.
type source interface {
	// Begin yields the words that begin with a prefix. A word may come several times, and entries may no longer have it.
	Begin(prefix string, yield func(word string)) error
	// Count returns how many entries have each of the words.
	Count(words []string) ([]int, error)
}

// Words returns the words that are similar to the given one. The first letters are usually right, so words with the same
// first two letters are tried first, then words with the same first letter, then single slips in the first letter. Words
// with digits are not replaced, and replace nothing. With parts, the last resort is what the word begins and ends with, as in
// compounds of German, or words that begin with it.
func Words(word string, from source, parts bool) (found []Word, err error) {
	letters := []rune(word)
	slips := slips(len(letters))
	if slips == 0 || strings.ContainsFunc(word, unicode.IsDigit) {
		return nil, nil
	}
	for _, same := range []int{2, 1} {
		if found, err = among(letters, same, slips, from); err != nil || len(found) > 0 {
			return found, err
		}
	}
	if found, err = counted(atFirst(letters), 1, from); err != nil || len(found) > 0 || !parts {
		return found, err
	}
	return inParts(letters, from)
}

// among returns the words that are near and have the same first letters; same is the number of these letters.
func among(letters []rune, same, slips int, from source) ([]Word, error) {
	far := map[string]int{}
	word := string(letters)
	err := from.Begin(string(letters[:same]), func(term string) {
		n := utf8.RuneCountInString(term)
		if n < len(letters)-mostEnding || n > len(letters)+mostEnding || strings.ContainsFunc(term, unicode.IsDigit) {
			return
		}
		if n := Distance(letters, []rune(term), slips); n <= slips {
			far[term] = n
		} else if sameStem(word, term) {
			far[term] = slips
		}
	})
	if err != nil {
		return nil, err
	}
	var out []Word
	for n := range slips + 1 {
		var words []string
		for term, slips := range far {
			if slips == n {
				words = append(words, term)
			}
		}
		more, err := counted(words, n, from)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// counted returns those of the words that entries have.
func counted(words []string, slips int, from source) (out []Word, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	slices.Sort(words)
	words = slices.Compact(words)
	counts, err := from.Count(words)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		if n > 0 {
			out = append(out, Word{words[i], slips, n})
		}
	}
	return out, nil
}

// leastPart is how many letters a part of a compound has at least.
const leastPart = 4

// inParts returns the longest beginning and the longest ending that are words, or else words that begin with the whole.
func inParts(letters []rune, from source) ([]Word, error) {
	var words []string
	for n := leastPart; n <= len(letters)-leastPart; n++ {
		words = append(words, string(letters[:n]), string(letters[n:]))
	}
	found, err := counted(words, part, from)
	if err != nil {
		return nil, err
	}
	word := string(letters)
	longest := func(is func(s, part string) bool) (out []Word) {
		for _, w := range found {
			if is(word, w.Word) && (len(out) == 0 || len(w.Word) > len(out[0].Word)) {
				out = []Word{w}
			}
		}
		return out
	}
	if out := append(longest(strings.HasSuffix), longest(strings.HasPrefix)...); len(out) > 0 {
		return out, nil
	}
	const most = 200 // words are counted
	words = nil
	err = from.Begin(word, func(term string) {
		if len(words) < most && !strings.ContainsFunc(term, unicode.IsDigit) {
			words = append(words, term)
		}
	})
	if err != nil {
		return nil, err
	}
	return counted(words, part, from)
}

// InParts reports whether the words are only parts of the word, or contain it.
func InParts(list []Word) bool {
	return !slices.ContainsFunc(list, func(w Word) bool { return w.Slips != part })
}

// Nearest returns the words with the fewest slips, of these the most frequent, at most so many.
func Nearest(list []Word, most int) (out []string) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Word) int {
		return cmp.Or(cmp.Compare(a.Slips, b.Slips), cmp.Compare(b.Entries, a.Entries), cmp.Compare(a.Word, b.Word))
	})
	for _, n := range list[:min(len(list), most)] {
		out = append(out, n.Word)
	}
	return out
}
