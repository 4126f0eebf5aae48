package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/repo"
)

// rankedParts are the words that TestOrder asks for, each with what it counts as: a term, or a whole, and the factor, as
// docs/format.md has it under "The order of hits".
var rankedParts = map[string]map[string]float64{
	"redis": {"redis": 1}, "timeout": {"timeout": 1}, "deploy": {"deploy": 1}, "cache": {"cache": 1},
	"pool/size":  {"pool": 1, "size": 1, "pool/size": 0.5},
	"ParseQuery": {"parsequery": 1, "parse": 0.5, "query": 0.5},
	"why":        {},
}

// rankedTexts are what texts are made of, each with its terms.
var rankedTexts = map[string][]string{
	"redis": {"redis"}, "Timeout": {"timeout"}, "deploy": {"deploy"}, "cache": {"cache"}, "pool": {"pool"}, "size": {"size"},
	"pool/size": {"pool", "size", "pool/size"}, "parseQuery": {"parsequery", "parse", "query"}, "query": {"query"}, "why": {"why"},
	"other": {"other"}, "words": {"words"}, "here": {"here"},
}

// rankedKinds has the weights of kinds.
var rankedKinds = map[string]float64{repo.KindMessage: 1, repo.KindToolCall: 0.6, repo.KindToolResult: 0.45, repo.KindEvent: 0.4}

// rankedEntry is an entry as a reader of the rules sees it.
type rankedEntry struct {
	key, tape, kind string
	bytes           int
	created         time.Time
	words           []string
	count           map[string]int // of its terms
	score           float64
}

// rankedTime is a time that a query names, or none.
type rankedTime struct {
	words     string
	month     time.Month
	day, days int
}

// TestOrder: hits come in the order, and with the scores, that the rules in docs/format.md give.
func TestOrder(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(4, 100) {
		s := testStore(t)
		words := map[string][]string{} // of each entry
		for i := range 1 + rng.IntN(5) {
			fillRanked(t, rng, newTape(t, s, fmt.Sprint("t", i)), words)
		}
		x := New(s, nil)
		all := rankedEntries(t, x, words)
		for range testkit.Size(6, 30) {
			asked := []string{"redis"}
			for range 1 + rng.IntN(4) {
				if w := pickOf(rng, rankedParts); !slices.Contains(asked, w) {
					asked = append(asked, w)
				}
			}
			if len(asked) < 2 || len(asked) == 2 && asked[1] == "why" { // one word means what it says
				continue
			}
			rng.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
			if asked[0] == "why" { // it would be a question, which is the same for these words
				asked = append(asked[1:], "why")
			}
			flat := rng.IntN(3) == 0
			times := []rankedTime{{}, {"in June 2026", time.June, 1, 30}, {"of 12 May 2026", time.May, 12, 1}}[rng.IntN(3)]
			want := orderOf(all, asked, times, flat)
			text := strings.TrimSpace(strings.Join(asked, " ") + " " + times.words)
			res := mustSearch(t, x, Search{Text: text, NoFold: true, Flat: flat, PerSession: 3, Query: repo.Query{Limit: repo.N(400)}})
			var got []string
			for _, h := range res.Hits {
				got = append(got, fmt.Sprintf("%s %.3f", key(h.Entry), h.Score))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q (flat %v):\ngot  %q\nwant %q", text, flat, got, want)
			}
		}
		_ = x.Close()
	}
}

func pickOf[V any](rng *rand.Rand, from map[string]V) string {
	keys := make([]string, 0, len(from))
	for k := range from {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys[rng.IntN(len(keys))]
}

// fillRanked appends random entries to a tape, and notes their words.
func fillRanked(t *testing.T, rng *rand.Rand, tp *repo.Tape, words map[string][]string) {
	t.Helper()
	for i := range 3 + rng.IntN(25) {
		var list []string
		for range 1 + rng.IntN(12) {
			list = append(list, pickOf(rng, rankedTexts))
		}
		text := strings.Join(list, " ")
		var d repo.Draft
		switch kind := pickOf(rng, rankedKinds); kind {
		case repo.KindMessage:
			d = repo.Message("user", text)
		case repo.KindToolCall:
			d = repo.Draft{Kind: kind, Payload: fmt.Appendf(nil, `{"calls":[{"id":"c","type":"function","function":{"name":"x","arguments":%q}}]}`, text)}
		case repo.KindToolResult:
			d = repo.Draft{Kind: kind, Payload: fmt.Appendf(nil, `{"results":[%q]}`, text)}
		default:
			d = repo.Event("note", fmt.Appendf(nil, `{"text":%q}`, text))
		}
		d.Date = time.Date(2026, 5, 1, 0, 0, i+60*rng.IntN(100_000), 0, time.UTC).Format(time.RFC3339)
		added, err := tp.Append(t.Context(), nil, d)
		if err != nil {
			t.Fatal(err)
		}
		words[fmt.Sprintf("%s@%d", tp.Name(), added[0].ID)] = list
	}
}

// rankedEntries reads all entries of a workspace.
func rankedEntries(t *testing.T, x *Index, words map[string][]string) (out []*rankedEntry) {
	t.Helper()
	for _, tp := range tapesOf(t, x.store) {
		list, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			one := &rankedEntry{key: key(e), tape: tp.Name(), kind: e.Kind, bytes: len(e.Raw), words: words[fmt.Sprintf("%s@%d", tp.Name(), e.ID)], count: map[string]int{}}
			one.created, _ = e.Time()
			for _, w := range one.words {
				for _, term := range rankedTexts[w] {
					one.count[term]++
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// orderOf orders entries by the rules, each with its score.
func orderOf(all []*rankedEntry, asked []string, then rankedTime, flat bool) (out []string) {
	from := time.Date(2026, then.month, then.day, 0, 0, 0, 0, time.Local)
	factors := map[string]float64{}
	for _, w := range asked {
		for term, factor := range rankedParts[w] {
			factors[term] = max(factors[term], factor)
		}
	}
	average, newest := 0.0, time.Time{}
	for _, e := range all {
		average += float64(e.bytes) / float64(len(all))
		if e.created.After(newest) {
			newest = e.created
		}
	}
	may := func(e *rankedEntry, term string) bool { // as an index knows it: all pieces, in any place
		return !slices.ContainsFunc(strings.Split(term, "/"), func(part string) bool { return e.count[part] == 0 })
	}
	var hits []*rankedEntry
	for _, e := range all {
		sum, found := 0.0, false
		for term, factor := range factors {
			tf, n := float64(e.count[term]), 0.0
			if tf == 0 {
				continue
			}
			found = true
			for _, o := range all {
				if may(o, term) {
					n++
				}
			}
			rare := math.Log(1 + (float64(len(all))-n+0.5)/(n+0.5))
			sum += factor * rare * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(e.bytes)/average))
		}
		if !found {
			continue
		}
		if then.days > 0 && !e.created.Before(from) && e.created.Before(from.AddDate(0, 0, then.days)) {
			sum *= 3
		}
		if then.days == 0 && strings.Contains(" "+strings.ToLower(strings.Join(e.words, " "))+" ", " "+strings.ToLower(strings.Join(asked, " "))+" ") {
			sum *= 1.3
		}
		age := newest.Sub(e.created).Hours() / 24
		e.score = sum * rankedKinds[e.kind] * (0.65 + 0.35*math.Exp2(-age/14))
		hits = append(hits, e)
	}
	slices.SortFunc(hits, func(a, b *rankedEntry) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.created.Compare(a.created))
	})
	best, count := map[string]float64{}, map[string]int{}
	for _, e := range hits {
		if count[e.tape]++; count[e.tape] <= 3 {
			best[e.tape] += e.score * []float64{1, 0.6, 0.4}[count[e.tape]-1]
		}
	}
	if !flat {
		slices.SortStableFunc(hits, func(a, b *rankedEntry) int {
			return cmp.Or(cmp.Compare(best[b.tape], best[a.tape]), cmp.Compare(a.tape, b.tape))
		})
	}
	shown := map[string]int{}
	several := slices.ContainsFunc(all, func(e *rankedEntry) bool { return e.tape != all[0].tape })
	for _, e := range hits {
		if shown[e.tape]++; flat || shown[e.tape] <= 3 || !several {
			out = append(out, fmt.Sprintf("%s %.3f", e.key, e.score))
		}
	}
	return out
}
