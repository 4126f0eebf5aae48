package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/index"
	"tape/internal/jsonl"
	"tape/repo"
)

type searchOptions struct {
	app *App

	kinds, roles  []string
	anchor, after string
	since, until  string
	limit         int
	sort          string
	allTapes      bool

	substring, regex, ignoreCase bool
	exact, noFold, searches      bool
	context                      int
	count, files                 bool

	changed func(flag string) bool
}

const (
	defaultHits = 20

	sortRelevance = "relevance"
	sortNewest    = "newest"
)

func newSearchCmd(a *App) *cobra.Command {
	o := &searchOptions{app: a}
	cmd := &cobra.Command{
		Use:   "search [flags] QUERY",
		Short: "Find entries by what they say",
		Long: `Find entries by what they say: message text, tool names, arguments, results, error
messages, names and summaries of anchors. What is most relevant comes first; messages go
before tool output, what is new before what is old.

  timeout retry        both words
  "connection reset"   the words in this order
  timeout -test        without the word test
  redis OR memcached   one of them
  timeo*               words that begin so
  SetReference         identifiers, whole or by their parts (reference)
  数据库                Chinese, Japanese and Korean: any part of a text

Case, width and accents do not matter. Where a word is found nowhere, near words are
tried, and tape says so. What cannot be read as a query is searched as words. Messages
that say the same are shown once; so is what tools print again and again, even if it
differs in digits, hexadecimal numbers, case and white space.

With --sort newest the last entry of a tape comes first; between tapes the dates decide.

Of more than 400 matches not all are ranked, but those that have a word often and the
newest. Entries that search tools wrote (meta.search is true) are left out.`,
		Example: `  tape search timeout
  tape search '"connection reset" -test' --kind message
  tape search 数据库 --all-tapes
  tape search --regex 'E_[A-Z]+_\d+' --after implement
  tape search deploy --sort newest -n 5 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("QUERY is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.changed = cmd.Flags().Changed
			return o.run(cmd.Context(), strings.Join(args, " "))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.kinds, "kind", nil, "find entries of this `KIND` only; may be repeated")
	f.StringArrayVar(&o.roles, "role", nil, "find messages of this `ROLE` only; may be repeated")
	f.StringVar(&o.anchor, "anchor", "", "search the phase of the anchor `NAME`")
	f.StringVar(&o.after, "after", "", "search what is behind the `ANCHOR`")
	f.StringVar(&o.since, "since", "", "find what is not older than `DATE`")
	f.StringVar(&o.until, "until", "", "find what is not newer than `DATE`")
	f.BoolVar(&o.allTapes, "all-tapes", false, "search all tapes of the workspace")
	f.IntVarP(&o.limit, "limit", "n", defaultHits, "show at most `N` hits")
	f.StringVar(&o.sort, "sort", sortRelevance, "the `ORDER`: relevance or newest")
	f.IntVarP(&o.context, "context", "C", 0, "show `N` entries before and after each hit, too")
	f.BoolVar(&o.substring, "substring", false, "QUERY is a text to be found exactly as it is")
	f.BoolVar(&o.regex, "regex", false, "QUERY is a regular expression (RE2)")
	f.BoolVarP(&o.ignoreCase, "ignore-case", "i", false, "with --substring and --regex: case does not matter")
	f.BoolVar(&o.exact, "exact", false, "take words as they are spelt, punctuation included; try no near ones")
	f.BoolVar(&o.noFold, "no-fold", false, "show entries that say nearly the same one by one")
	f.BoolVar(&o.searches, "searches", false, "include entries that search tools wrote")
	f.BoolVar(&o.count, "count", false, "print how many entries match")
	f.BoolVar(&o.files, "files", false, "print the files that have matches")
	a.completeFlag(cmd, "kind", completeKinds)
	a.completeFlag(cmd, "anchor", a.completeAnchors)
	a.completeFlag(cmd, "after", a.completeAnchors)
	a.completeFlag(cmd, "sort", completeWords(sortRelevance, sortNewest))
	a.completeFlag(cmd, "role", completeWords("user", "assistant", "system", "tool"))
	return cmd
}

// search turns the flags into what is asked of the index.
func (o *searchOptions) search(query string) (index.Search, error) {
	s := index.Search{Text: query, IgnoreCase: o.ignoreCase, Exact: o.exact, AsSpelt: o.app.quiet, Roles: o.roles, Newest: o.sort == sortNewest,
		NoFold: o.noFold, Searches: o.searches, Context: o.context, Count: o.count,
		Query: repo.Query{Phase: o.anchor, After: o.after, Kinds: o.kinds, Limit: repo.N(o.limit)}}
	switch {
	case o.substring && o.regex:
		return s, usagef("give one of --substring and --regex")
	case o.count && o.files:
		return s, usagef("give one of --count and --files")
	case (o.count || o.files) && (o.changed("limit") || o.changed("context") || o.changed("sort") || o.noFold):
		return s, usagef("--count and --files are about all matches: -n, -C, --sort and --no-fold do not go with them")
	case o.sort != sortRelevance && o.sort != sortNewest:
		return s, usagef("--sort is relevance or newest, not %s", quoted(o.sort))
	case o.ignoreCase && !o.substring && !o.regex:
		return s, usagef("--ignore-case goes with --substring or --regex; words have no case")
	case o.exact && (o.substring || o.regex):
		return s, usagef("--exact is for words")
	case o.substring:
		s.How = index.Substring
	case o.regex:
		s.How = index.Regexp
	}
	if o.files {
		s.NoFold, s.Query.Limit = true, nil
	}
	var err error
	now := o.app.Now()
	if o.changed("since") {
		if s.Query.Since, err = repo.ParseSince(o.since, now); err != nil {
			return s, err
		}
	}
	if o.changed("until") {
		s.Query.Until, err = repo.ParseUntil(o.until, now)
	}
	return s, err
}

func (o *searchOptions) run(ctx context.Context, query string) error {
	a := o.app
	s, err := o.search(query)
	if err != nil {
		return err
	}
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	if o.allTapes {
		if a.wantedTape() != "" && a.tapeName != "" {
			return usagef("give one of --tape and --all-tapes")
		}
		s.Tapes, err = store.Tapes(ctx)
	} else {
		var t *repo.Tape
		t, err = a.openTape(ctx)
		s.Tapes = []*repo.Tape{t}
	}
	if err != nil {
		return err
	}
	bar := a.progress("indexing")
	x := index.New(store, &index.Options{Progress: bar.count})
	res, err := x.Search(ctx, s)
	bar.clear()
	if closeErr := x.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return o.show(s, res)
}

func (o *searchOptions) show(s index.Search, res *index.Result) error {
	a := o.app
	if res.Instead != "" && !a.json {
		a.tell("showing results for %s", safeLine(res.Instead))
	}
	switch {
	case o.count:
		return a.result(struct {
			Count   int    `json:"count"`
			Instead string `json:"instead,omitempty"`
		}{res.Matches, res.Instead}, "%d", res.Matches)
	case o.files:
		return o.showFiles(s, res)
	case a.json:
		for _, h := range res.Hits {
			if err := a.writeLine(hitJSON(h, res.Instead)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(res.Hits) == 0 {
		switch {
		case o.limit == 0:
		case o.allTapes || !o.others(s):
			a.tell("no hits")
		default:
			a.tell("no hits in the tape %s; --all-tapes searches the others, too", quoted(s.Tapes[0].Name()))
		}
		return nil
	}
	a.page()
	for i, h := range res.Hits {
		if i > 0 {
			a.printf("\n")
		}
		if err := o.showHit(h); err != nil {
			return err
		}
	}
	more := o.more(res)
	switch {
	case more == "":
		return nil
	case a.screen().out: // it may be in a pager by now
		a.say("\n%s", a.style(dim, more))
		return nil
	}
	err := a.out.Flush()
	a.tell("%s", more)
	return err
}

// others reports whether the workspace has other tapes than the one that was searched.
func (o *searchOptions) others(s index.Search) bool {
	all, err := s.Tapes[0].Store().Tapes(context.Background())
	return err == nil && len(all) > 1
}

// more says what is not shown.
func (o *searchOptions) more(res *index.Result) string {
	shown := 0
	for _, h := range res.Hits {
		shown += 1 + h.Similar
	}
	if shown >= res.Matches {
		return ""
	}
	of := strconv.Itoa(res.Matches)
	if !res.Exact {
		of = "more than " + of
	}
	return fmt.Sprintf("%d of %s matches; -n shows more", shown, of)
}

func (o *searchOptions) showHit(h index.Hit) error {
	a := o.app
	around := &entryView{app: a, oneline: true}
	for _, e := range h.Before {
		if err := around.show(e); err != nil {
			return err
		}
	}
	kind, colour := label(h.Entry)
	id := fmt.Sprintf("@%d", h.ID)
	if o.allTapes {
		id = truncate(safeLine(h.Tape), maxCell) + " " + id
	}
	head := a.style(bold+";"+yellow, id) + "  " + a.style(colour, truncate(safeLine(kind), kindCells)) + "  " +
		a.style(dim, a.when(h.Date)+"  "+truncate(safeLine(h.Anchor), maxCell))
	if h.Similar > 0 {
		head += a.style(dim, fmt.Sprintf("  and %d like it", h.Similar))
	}
	a.printf("%s\n", head)
	if err := o.showSnippet(h); err != nil {
		return err
	}
	for _, e := range h.After {
		if err := around.show(e); err != nil {
			return err
		}
	}
	return nil
}

// showSnippet shows the snippet, wrapped, with what was looked for in colour.
func (o *searchOptions) showSnippet(h index.Hit) error {
	a := o.app
	var text strings.Builder
	var marks [][2]int // where in text it is
	end := 0
	for _, s := range h.Spans {
		text.WriteString(safeLine(h.Snippet[end:s[0]]))
		from := text.Len()
		text.WriteString(safeLine(h.Snippet[s[0]:s[1]]))
		marks = append(marks, [2]int{from, text.Len()})
		end = s[1]
	}
	text.WriteString(safeLine(h.Snippet[end:]))
	rest, at := text.String(), 0 // what is not shown yet, and where it begins
	for _, line := range wrap(rest, max(0, a.width()-2)) {
		skipped := max(0, strings.Index(rest, line))
		rest, at = rest[skipped:], at+skipped
		if err := a.writeLine([]byte("  " + a.coloured(line, at, marks))); err != nil {
			return err
		}
		n := min(len(line), len(rest))
		rest, at = rest[n:], at+n
	}
	return nil
}

// coloured colours the marks that fall into a line, which begins at a place of the text
// that they are of.
func (a *App) coloured(line string, at int, marks [][2]int) string {
	var out strings.Builder
	end := 0
	for _, m := range marks {
		from, to := max(m[0]-at, end), min(m[1]-at, len(line))
		if from < to {
			out.WriteString(line[end:from] + a.style(bold+";"+red, line[from:to]))
			end = to
		}
	}
	return out.String() + line[end:]
}

// hitJSON is the entry with what makes it a hit.
func hitJSON(h index.Hit, instead string) []byte {
	out := h.JSON()
	out = fmt.Appendf(out[:len(out)-1], `,"score":%s,"snippet":`, strconv.FormatFloat(h.Score, 'f', -1, 64))
	out = append(append(jsonl.AppendString(out, h.Snippet), `,"matches":`...), marshal(spansOf(h))...)
	if h.Similar > 0 {
		out = fmt.Appendf(out, `,"similar":%d`, h.Similar)
	}
	if instead != "" {
		out = jsonl.AppendString(append(out, `,"instead":`...), instead)
	}
	out = appendEntries(out, "before", h.Before)
	out = appendEntries(out, "after", h.After)
	return append(out, '}')
}

func appendEntries(out []byte, name string, list []repo.Entry) []byte {
	if len(list) == 0 {
		return out
	}
	out = fmt.Appendf(out, `,"%s":[`, name)
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e.JSON()...)
	}
	return append(out, ']')
}

func spansOf(h index.Hit) [][2]int {
	if h.Spans == nil {
		return [][2]int{}
	}
	return h.Spans
}

// showFiles lists the files that have matches, with their number.
func (o *searchOptions) showFiles(s index.Search, res *index.Result) error {
	a := o.app
	type file struct {
		File    string `json:"file"`
		Tape    string `json:"tape"`
		Matches int    `json:"matches"`
		Instead string `json:"instead,omitempty"`
	}
	dirs := map[string]string{}
	for _, t := range s.Tapes {
		dirs[t.Name()] = t.WorkTree()
	}
	var list []*file
	known := map[[2]string]*file{}
	for _, h := range res.Hits {
		key := [2]string{h.Tape, filepath.Join("anchors", h.At.Folder, h.At.File)}
		if known[key] == nil {
			known[key] = &file{File: filepath.Join(dirs[h.Tape], key[1]), Tape: h.Tape, Instead: res.Instead}
			list = append(list, known[key])
		}
		known[key].Matches++
	}
	for _, f := range list {
		var err error
		if a.json {
			err = a.emit(f)
		} else {
			err = a.writeLine([]byte(safeLine(f.File) + a.style(dim, fmt.Sprintf(":%d", f.Matches))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
