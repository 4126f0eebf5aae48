package scan

import (
	"bytes"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text/needle"
)

// literal is text that has to occur.
type literal struct {
	s    string
	fold bool // but for case
}

// filter looks for what a line has to contain, in the line as it is stored.
type filter struct {
	any   bool              // every line is a candidate
	cores []needle.Needle   // one of them
	also  [][]needle.Needle // and one of each of these
}

// maxCores bounds how many literals are looked for; each takes its own pass.
// maxAlso bounds what else a line is asked for.
const (
	maxCores = 8
	maxAlso  = 4
)

// newFilter makes a filter for lines that have at least one literal of every group.
func newFilter(groups ...[]literal) filter {
	f := filter{any: true}
	best := 0
	for _, lits := range groups {
		cost, ok := groupCost(lits)
		if !ok {
			continue
		}
		cores := newCores(lits)
		switch {
		case f.any:
			f.any, f.cores, best = false, cores, cost
			continue
		case cost < best:
			f.cores, cores, best = cores, f.cores, cost
		}
		if len(f.also) < maxAlso {
			f.also = append(f.also, cores)
		}
	}
	return f
}

// groupCost says what it costs to look for one of the literals in a file, and to
// look at lines that have one by chance. It reports false if there are too
// many of them, or none to look for in one.
func groupCost(lits []literal) (cost int, ok bool) {
	if len(lits) == 0 || len(lits) > maxCores {
		return 0, false
	}
	for _, l := range lits {
		s := l.core()
		if s == "" {
			return 0, false
		}
		cost += needle.New(s, l.fold).Cost + 1<<10>>min(2*len(s), 10)
	}
	return cost, true
}

// newCores returns what to look for in lines that have one of the literals.
func newCores(lits []literal) []needle.Needle {
	var cores []needle.Needle
	var wide, long, kelvin bool
	for _, l := range lits {
		s := l.core()
		cores = append(cores, needle.New(s, l.fold))
		wide = wide || strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		long = long || l.fold && strings.ContainsAny(s, "sS")
		kelvin = kelvin || l.fold && strings.ContainsAny(s, "kK")
	}
	// Two characters outside ASCII that are letters of ASCII but for case.
	if long {
		cores = append(cores, needle.New("ſ", false), needle.New(`\u017f`, true))
	}
	if kelvin {
		cores = append(cores, needle.New("\u212A", false), needle.New(`\u212a`, true))
	}
	// What else a line may hide a core behind. What hides printable ASCII
	// also hides the sign that begins what hides something.
	if wide {
		return append(cores, needle.New(`\u`, false))
	}
	return append(cores, needle.Escape())
}

// enough is the length from which a core is good whatever is left out.
const enough = 5

// core returns the part of a literal to look for: one that a line cannot spell
// in another way than with \u, or as another letter in case.
func (l literal) core() string {
	if l.fold {
		// Letters that something outside ASCII equals would make that to be looked for, too.
		if s := l.longest("sSkK"); len(s) >= enough {
			return s
		}
	}
	return l.longest("")
}

// longest is core without some characters, the rarer of two parts that are as long.
func (l literal) longest(without string) string {
	best, bestScore := "", -1
	start, score := 0, 0
	consider := func(end int) {
		if end > start && score > bestScore {
			best, bestScore = l.s[start:end], score
		}
		score = 0
	}
	for i := 0; i < len(l.s); {
		r, n := utf8.DecodeRuneInString(l.s[i:])
		if isEscapable(r) || strings.ContainsRune(without, r) || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			consider(i)
			start = i + n
		} else {
			score += 8*n + bits.LeadingZeros16(uint16(needle.Frequency(l.s[i])))
		}
		i += n
	}
	consider(len(l.s))
	return best
}

// isEscapable picks characters that JSON may spell otherwise than as they are, without \u.
func isEscapable(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '/' || r == utf8.RuneError
}

// next is the offset of the first place in file at which a line may be one, or -1.
func (f *filter) next(file []byte) int {
	if len(file) == 0 {
		return -1
	}
	if f.any {
		return 0
	}
	for from := 0; ; {
		i := f.first(file, from)
		if i < 0 || len(f.also) == 0 {
			return i
		}
		start, end := bytes.LastIndexByte(file[:i], '\n')+1, len(file)
		if n := bytes.IndexByte(file[i:], '\n'); n >= 0 {
			end = i + n
		}
		if f.hasAll(file[start:end]) {
			return i
		}
		from = end
	}
}

// hasAll reports whether the line has what it has to have besides.
func (f *filter) hasAll(line []byte) bool {
	for _, cores := range f.also {
		if !slices.ContainsFunc(cores, func(n needle.Needle) bool { return n.Index(line, 0, len(line)) >= 0 }) {
			return false
		}
	}
	return true
}

// first returns the first place of a core in file behind from, or -1.
func (f *filter) first(file []byte, from int) int {
	// Every core takes its own pass. They go over the file together, in
	// blocks that stay in the cache and grow at first: a core that is
	// everywhere must not make the others run ahead each time.
	const least, most = 1 << 10, 32 << 10
	for size := least; from < len(file); size = min(size*2, most) {
		end := min(from+size, len(file))
		best := -1
		for k := range f.cores {
			limit := end
			if best >= 0 {
				limit = best
			}
			if i := f.cores[k].Index(file, from, limit); i >= 0 {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
		from = end
	}
	return -1
}

// required returns groups of literals: everything that the expression matches
// has, of each of them, at least one.
func required(re *syntax.Regexp) [][]literal {
	switch re.Op {
	case syntax.OpLiteral:
		return [][]literal{{{string(re.Rune), re.Flags&syntax.FoldCase != 0}}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var all [][]literal
		for _, sub := range re.Sub {
			all = append(all, required(sub)...)
		}
		return all
	case syntax.OpAlternate:
		// Any of the best of each.
		var either []literal
		for _, sub := range re.Sub {
			best := cheapest(required(sub))
			if len(best) == 0 || len(either) > maxCores {
				return nil
			}
			either = append(either, best...)
		}
		return [][]literal{either}
	}
	return nil
}

// cheapest returns the group that costs least, or nil if none is of use.
func cheapest(groups [][]literal) []literal {
	var best []literal
	least := 0
	for _, lits := range groups {
		if cost, ok := groupCost(lits); ok && (best == nil || cost < least) {
			best, least = lits, cost
		}
	}
	return best
}
