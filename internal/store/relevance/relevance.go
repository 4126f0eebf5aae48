// Package relevance has what searches in a workspace and in a team's database share: the terms that an index has
// in addition to the words of an entry, which entries are folded into one hit, how many candidates are judged, and
// how they are ranked. It does no I/O.
package relevance

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/internal/text/query"
)

// Parse parses a search for words. In one for any words, the words that name a time do not count; a date in digits may be a
// version or part of a name, too, so it does.
func Parse(search string, exact bool) *query.Query {
	_, _, named := layout.TimeIn(search, time.Now())
	if named != "" && unicode.IsDigit(rune(named[0])) && !strings.Contains(named, " ") {
		named = ""
	}
	return query.Parse(search, query.Options{Exact: exact, Time: named})
}

// Marks are terms that no text contains: a private character, and a letter for the meaning. Other letters
// are those of [snapshot.Properties].
const (
	Mark       = "\ue000"
	MarkKind   = Mark + "k" // the entry's kind, which is a property, too
	MarkName   = Mark + "n" // an event's name
	MarkSearch = Mark + "s" // written by a search tool: meta.search
	MarkOften  = Mark + "o" // a word that the entry contains OftenTimes
)

// OftenTimes is how often an entry must contain a word to be a candidate although newer ones contain it.
const OftenTimes = 3

// Shortened returns the value of a property as it is in terms: at most 200 bytes.
func Shortened(value string) string {
	const longest = 200
	return strings.ToValidUTF8(value[:min(len(value), longest)], "")
}

// DigitsMatter reports whether entries that differ only in digits are different answers to a search.
func DigitsMatter(search string) bool {
	return strings.ContainsFunc(search, func(r rune) bool { return unicode.IsDigit(r) || r == '*' })
}

// TalkKinds are the kinds of entries that people and agents wrote, as opposed to the output of programs.
var TalkKinds = [...]string{layout.KindMessage, layout.KindAnchor, layout.KindError}

// IsTalk reports whether a kind is one of TalkKinds.
func IsTalk(kind string) bool { return slices.Contains(TalkKinds[:], kind) }

// FoldKey returns the same for entries that are folded into one hit: talk and system prompts if their text is the
// same, other entries also if their text differs only in digits and the like.
func FoldKey(kind string, body []byte) uint64 {
	if IsTalk(kind) || kind == layout.KindSystem {
		return text.Identity(body)
	}
	return text.Signature(body)
}

// NameOf returns the name by which an event is found; "" if it has none, or one of more than 200 bytes.
func NameOf(e layout.Entry) string {
	const longest = 200 // bytes
	if e.Kind != layout.KindEvent {
		return ""
	}
	if name := jsonl.GetString(e.Payload, "name"); len(name) <= longest {
		return name
	}
	return ""
}

// CallBack is how many entries before an event its call is looked for.
const CallBack = 200

// CallOf returns the id of the call that an event tells more about: what a program knows of a result beside what the
// model saw, or how a call goes on. It is "" for other entries.
func CallOf(e layout.Entry) string {
	if e.Kind != layout.KindEvent {
		return ""
	}
	switch name := jsonl.GetString(e.Payload, "name"); {
	case name == "tool.detail":
		return jsonl.GetString(e.Payload, "data", "call_id")
	case strings.HasPrefix(name, "progress."):
		return jsonl.GetString(e.Payload, "data", "parentToolUseID")
	}
	return ""
}

// HasCall reports whether an entry makes a call, or has its result.
func HasCall(e layout.Entry, id string) bool {
	switch e.Kind {
	case layout.KindToolResult:
		return slices.Contains(jsonl.Strings(jsonl.Get(e.Meta, "call_ids")), id)
	case layout.KindToolCall:
		for call := range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
			if jsonl.GetString(call, "id") == id {
				return true
			}
		}
	}
	return false
}

// SessionOf returns the session that a tape belongs to: a fork belongs to its parent, and the tape of a subagent to the
// session that started it.
func SessionOf(tape string, fork bool) string {
	if session, _, ok := strings.Cut(tape, "/agent-"); ok {
		return session
	}
	if at := strings.LastIndexByte(tape, '/'); fork && at > 0 {
		return tape[:at]
	}
	return tape
}

// IsSearch reports whether a search tool wrote the entry.
func IsSearch(e layout.Entry) bool {
	return len(e.Meta) > 2 && string(jsonl.Get(e.Meta, "search")) == "true"
}

// Weights of relevance. k1 and b are the usual ones of BM25.
const (
	k1 = 1.2
	b  = 0.75
	// Literal is the factor for entries that contain the query as it was typed.
	Literal = 1.3
	// then is the factor for entries of the time that the query names.
	then = 3
	// Age takes up to ageShare off the score: half of ageShare after halfLife.
	ageShare = 0.35
	halfLife = 14 * 24 * 3600e6 // microseconds
)

// Kinds are kinds of entries with the same weight. Messages weigh more than output.
type Kinds struct {
	Names  []string
	Weight float64
}

// ByWeight has the kinds that have a weight of their own, the greatest first.
var ByWeight = [...]Kinds{
	{[]string{layout.KindMessage, layout.KindAnchor}, 1},
	{[]string{layout.KindError}, 0.9},
	{[]string{layout.KindToolCall}, 0.6},
	{[]string{layout.KindSystem}, 0.5},
	{[]string{layout.KindToolResult}, 0.45},
}

// OtherWeight is the weight of all other kinds, the least.
const OtherWeight = 0.4

// KindWeight returns the weight of a kind.
func KindWeight(kind string) float64 {
	for _, k := range ByWeight {
		if slices.Contains(k.Names, kind) {
			return k.Weight
		}
	}
	return OtherWeight
}

// WeightOf is the weight of an entry that was read. What a program put among the messages in the user's name, such as a list of
// skills or the text of a command, weighs like a prompt of the system.
func WeightOf(e layout.Entry) float64 {
	if e.Role() == "user" && !about.IsPrompt(e) {
		return KindWeight(layout.KindSystem)
	}
	return KindWeight(e.Kind)
}

// Corpus describes all entries that are searched.
type Corpus struct {
	Newest  int64   // date of the newest entry in microseconds since 1970
	Entries float64 // how many there are
	Average float64 // average length of an entry's line in bytes
	Even    bool    // the lengths of entries do not count
}

// IDF returns the weight of a word that is in df entries.
func (c *Corpus) IDF(df int) float64 {
	return math.Log(1 + (c.Entries-float64(df)+0.5)/(float64(df)+0.5))
}

// Saturated returns BM25's term for n occurrences in an entry with a line of the given length in bytes.
func (c *Corpus) Saturated(n float64, length int) float64 {
	if c.Even { // masked entries do not have the lengths of their lines
		return n * (k1 + 1) / (n + k1)
	}
	return n * (k1 + 1) / (n + k1*(1-b+b*float64(length)/c.Average))
}

// Weigh weighs the sum over the words of an entry by the weight of its kind and its age. created is in microseconds since
// 1970, 0 if it is unknown.
func (c *Corpus) Weigh(weight float64, created int64, sum float64) float64 {
	fresh := 0.0
	if created > 0 {
		fresh = math.Exp2(-float64(max(0, c.Newest-created)) / halfLife)
	}
	return sum * weight * (1 - ageShare + ageShare*fresh)
}
