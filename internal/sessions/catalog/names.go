package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/text"
	"tape/repo"
)

// Find returns the tape or fork with a name, which may be short, see [FullName]. An exact name wins. Errors: ErrNotFound;
// ErrInvalid if several names begin so.
func Find(ctx context.Context, store *repo.Store, name string) (*repo.Tape, error) {
	t, err := store.Tape(ctx, name)
	if !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	tapes, listErr := All(ctx, store)
	if listErr != nil {
		return nil, listErr
	}
	full, shortErr := FullName(Names(tapes), strings.Split(name, "/"))
	switch {
	case shortErr != nil:
		return nil, shortErr
	case full == "":
		return nil, err
	}
	return store.Tape(ctx, full)
}

// Entry splits TAPE@17 into the tape's name and @17. For anything else, the tape is "", and rest is what.
func Entry(what string) (tape, rest string) {
	at := strings.LastIndexByte(what, '@')
	if at <= 0 {
		return "", what
	}
	if n, err := strconv.ParseInt(what[at+1:], 10, 64); err != nil || n < 1 {
		return "", what
	}
	return what[:at], what[at:]
}

// Names returns the names of tapes; nil for nil.
func Names(tapes []*repo.Tape) []string {
	if tapes == nil {
		return nil
	}
	names := make([]string, len(tapes))
	for i, t := range tapes {
		names[i] = t.Name()
	}
	return names
}

// FullName returns the name whose parts, between slashes, begin with the given ones; "" if there is none,
// ErrInvalid if there are several. An exact part wins.
func FullName(names []string, parts []string) (string, error) {
	found := MatchNames(names, parts)
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	const most = 8
	hint := strings.Join(found[:min(len(found), most)], "\n")
	if n := len(found) - most; n > 0 {
		hint += fmt.Sprintf("\nand %d more", n)
	}
	return "", layout.Invalid(hint, "the names of %d tapes begin with %q; give more of it", len(found), strings.Join(parts, "/"))
}

// MatchNames returns the names whose parts, between slashes, begin with the given ones. An exact part wins.
func MatchNames(names []string, parts []string) []string {
	var left [][]string
	for _, full := range names {
		if name := strings.Split(full, "/"); len(name) == len(parts) {
			left = append(left, name)
		}
	}
	for i, part := range parts {
		is := func(name []string) bool { return name[i] == part }
		if !slices.ContainsFunc(left, is) {
			is = func(name []string) bool { return part != "" && strings.HasPrefix(name[i], part) }
		}
		left = slices.DeleteFunc(left, func(name []string) bool { return !is(name) })
	}
	found := make([]string, len(left))
	for i, name := range left {
		found[i] = strings.Join(name, "/")
	}
	return found
}

// ShortNames returns short forms of tapes' names, by name: of each part, the shortest beginning of at least
// 8 bytes that is unique. A part that this would shorten by 8 bytes or less stays as it is. See [FullName].
func ShortNames(names []string) map[string]string {
	const short = 8
	beside := map[string][]string{} // parts that must differ, by their place
	place := func(parts []string, i int) string { return fmt.Sprint(len(parts), parts[:i]) }
	for _, name := range names {
		parts := strings.Split(name, "/")
		for i, part := range parts {
			at := place(parts, i)
			beside[at] = append(beside[at], part)
		}
	}
	for at := range beside {
		slices.Sort(beside[at])
		beside[at] = slices.Compact(beside[at])
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		parts := strings.Split(name, "/")
		cut := slices.Clone(parts)
		for i, part := range parts {
			n, others := short, beside[place(parts, i)]
			at, _ := slices.BinarySearch(others, part)
			for _, j := range []int{at - 1, at + 1} {
				if j >= 0 && j < len(others) {
					n = max(n, shared(part, others[j])+1)
				}
			}
			for n < len(part) && !utf8.RuneStart(part[n]) {
				n++
			}
			if n+short < len(part) {
				cut[i] = part[:n]
			}
		}
		out[name] = strings.Join(cut, "/")
	}
	return out
}

// shared returns the length of the common prefix of two names, in bytes.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Nearest returns up to three names that begin with a word. If there are none, they are names that differ from it by one
// typo, or else by two. The case of letters does not count.
func Nearest(word string, names []string) []string {
	const most, longest, few = 2, 80, 3
	if word == "" || len(word) > longest {
		return nil
	}
	folded := []rune(strings.ToLower(word))
	allowed := min(most, len(folded)/2) // otherwise every name would be near to a short word
	found := map[int][]string{}
	for _, name := range names {
		lower := strings.ToLower(name)
		slips := allowed + 1
		switch {
		case len(name) > longest || name == word:
		case strings.HasPrefix(lower, string(folded)):
			slips = 0
		default:
			slips = text.Distance(folded, []rune(lower), allowed)
		}
		if slips <= allowed && !slices.Contains(found[slips], name) {
			found[slips] = append(found[slips], name)
		}
	}
	for slips := range allowed + 1 {
		if len(found[slips]) > 0 {
			return found[slips][:min(len(found[slips]), few)]
		}
	}
	return nil
}
