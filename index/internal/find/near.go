package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text/near"
	"tape/internal/text/query"
)

// nearQuery returns the query with each word that no entry in scope contains replaced by a similar word that
// some entry contains. It returns nil if every word is in an entry, or if one has no similar word.
func (f *finder) nearQuery() (*query.Query, error) {
	out := f.query
	changed := false
	for _, word := range f.query.Words() {
		if ok, err := f.inScope(word); err != nil {
			return nil, err
		} else if ok {
			continue
		}
		near, err := f.near(word)
		if err != nil {
			return nil, err
		}
		if near == "" {
			return nil, nil
		}
		out, changed = out.Replace(word, near), true
	}
	if !changed {
		return nil, nil
	}
	return out, nil
}

type nearTerm struct {
	term  string
	slips int
}

// near returns the word in scope that is most similar to the given one, the most frequent if there are several;
// "" if there is none. The first letters are usually right, so words with the same first two letters are tried
// first, then words with the same first letter, then single slips in the first letter. Words with digits are not
// replaced.
func (f *finder) near(word string) (string, error) {
	letters := []rune(word)
	most := min(len(letters)/4, 2) // typing errors: none in a short word, two in a long one
	if most == 0 || strings.ContainsFunc(word, unicode.IsDigit) {
		return "", nil
	}
	for _, same := range []int{2, 1} {
		term, err := f.nearAmong(letters, same, most)
		if err != nil || term != "" {
			return term, err
		}
	}
	for _, term := range slipsAtFirst(letters) {
		if ok, err := f.inScope(term); err != nil || ok {
			return term, err
		}
	}
	return "", nil
}

// nearAmong is near among the words whose first letters are the same; same is the number of these letters, and
// most the number of slips.
func (f *finder) nearAmong(letters []rune, same, most int) (string, error) {
	var found []nearTerm
	err := f.eval.x.Terms([]byte(string(letters[:same])), func(term []byte) {
		n := utf8.RuneCount(term)
		if n < len(letters)-most || n > len(letters)+most {
			return
		}
		if slips := near.Distance(letters, []rune(string(term)), most); slips <= most {
			found = append(found, nearTerm{string(term), slips})
		}
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), cmp.Compare(a.term, b.term))
	})
	// Only entries in scope count, so that other entries in the index cannot change the answer.
	best, entries := nearTerm{}, 0
	for _, n := range slices.Compact(found) { // a term may be in several segments
		if entries > 0 && n.slips > best.slips {
			break
		}
		has, err := f.eval.with(n.term)
		if err != nil {
			return "", err
		}
		if c := has.count(); c > entries {
			best, entries = n, c
		}
	}
	return best.term, nil
}

func (f *finder) inScope(term string) (bool, error) {
	if ts := f.eval.terms[term]; ts != nil { // a word of the query
		return ts.n > 0, nil
	}
	has, err := f.eval.with(term)
	return has.count() > 0, err
}

// slipsAtFirst returns the words that one may have meant, if the only slip is in the first letter.
func slipsAtFirst(letters []rune) []string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	rest := string(letters[1:])
	out := []string{rest, string(letters[1]) + string(letters[0]) + string(letters[2:])}
	for _, r := range alphabet {
		out = append(out, string(r)+rest, string(r)+string(letters))
	}
	return out
}
