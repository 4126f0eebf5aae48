package cli

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

type searchOptions struct {
	app *App
	filter.Params
	anchor, after  string
	remote         string
	project        string
	limit          int
	sort           string
	allTapes, team bool

	substring, regex, ignoreCase bool
	exact, allWords, entries     bool
	noFold, searches             bool
	context                      int
	count, files                 bool
	mostSessions                 int // with files; -1: all

	facts map[string]about.Tape // of the sessions with hits, if one workspace was searched, by branch
}

const (
	defaultHits   = 20
	hitsOfSession = 3 // that are shown, unless one session is searched
)

func newSearchCmd(a *App) *cobra.Command {
	o := &searchOptions{app: a}
	var s index.Search
	cmd := &cobra.Command{
		Use:   "search [flags] QUERY",
		Short: "Search the text of entries",
		Long: `Search the text of entries: messages, tool names, arguments, results, error messages, names
and summaries of anchors.

An entry is found if it has any word of the query: the more of them, and the rarer, the higher it
comes; words such as "the" and "why" do not count unless there are no others. A word that no entry
has counts as up to three similar ones, and tape says so; an identifier, a path and a run of Chinese
also count by their parts. Quotes, -word, OR, timeo*, --all-words and --exact mean what they say, and
so does one word alone if some entry has it; in a question (it begins with a word such as why or how,
or ends with ?) they are only part of what is asked. Messages rank above calls and output, new
entries above old ones, and what was said at a time that the query names above the rest. Hits come
session by session, with forks and subagents, the session with the best three hits first; three of
each are shown.

  why did the install fail   entries with install or fail; best those with both
  what broke on 12 March     entries with broke; best those of that day
  conecton pool             connection, as no entry has conecton
  "connection reset"         the words in this order
  timeout -test              without the word test; -test alone: all entries without it
  redis OR memcached         one of them; redis AND cache: both
  timeo*                     words with this beginning
  SetReference               identifiers, whole or by their parts (reference)
  数据库                      Chinese, Japanese and Korean: any part of a text

Case, width and accents do not matter. A query that cannot be parsed is searched as plain words.
Messages with the same text are shown once; so is repeated tool output, even if it differs in
digits, hexadecimal numbers, case and white space. What an agent recorded about a call besides
its result, such as the whole file before an edit, is found as that call.

` + datesHelp + `

With --sort newest, the last entry of a tape comes first; hits of different tapes are ordered
by date. With --entries, the best entries come first, of whichever session.

If very many entries match, the 200 that have most of the query are compared by their texts,
and more if these fill no page. Entries that search tools wrote (meta.search is true) are left out.

For text artifacts, the first 256 KiB are searched with the entries that refer to them;
--substring and --regex search only the entries.`,
		Example: `  tape search timeout
  tape search why did the fish install fail on fresh machines --all-tapes
  tape search how did we fix the --watch flag
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
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			s, err = o.search(strings.Join(args, " "), cmd.Flags().Changed)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !o.team && o.remote+o.project != "" {
				return layout.Invalid("to search the sessions of all your projects: -A", "--remote and --project go with --team")
			}
			if o.team {
				return hostcmd.TeamRun(o.app.onTeam).Search(cmd, hostcmd.TeamSearch{Search: s, Remote: o.remote, Project: o.project}, o.app.tapeName, o.allTapes || o.app.everywhere || o.files)
			}
			return o.run(cmd.Context(), s)
		},
	}
	o.addFlags(cmd)
	completeFlag(cmd, "sort", completeWords(filter.Relevance, filter.Newest))
	return cmd
}

func (o *searchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFilters(cmd, &o.Params, "find")
	f.StringVar(&o.anchor, "anchor", "", "search the phase of the anchor `NAME`")
	f.StringVar(&o.after, "after", "", "search the entries after the `ANCHOR`")
	f.BoolVar(&o.allTapes, "all-tapes", false, "search all sessions of the workspace")
	o.app.addAllWorkspaces(cmd)
	f.BoolVar(&o.team, "team", false, "search the sessions of your team, on the server of tape login; --tape is REMOTE/TAPE")
	f.StringVar(&o.remote, "remote", "", "with --team: search the sessions of the team's remote `NAME`")
	f.StringVar(&o.project, "project", "", "with --team: search sessions of projects whose path contains `TEXT`")
	f.IntVarP(&o.limit, "limit", "n", defaultHits, "show at most `N` hits; with --files, `N` sessions")
	f.StringVar(&o.sort, "sort", filter.Relevance, "the `ORDER`: relevance or newest")
	f.IntVarP(&o.context, "context", "C", 0, "show `N` entries before and after each hit, too")
	f.BoolVar(&o.substring, "substring", false, "QUERY is literal text")
	f.BoolVar(&o.regex, "regex", false, "QUERY is a regular expression (RE2)")
	f.BoolVarP(&o.ignoreCase, "ignore-case", "i", false, "with --substring and --regex: case does not matter")
	f.BoolVar(&o.allWords, "all-words", false, "find only entries that have all words")
	f.BoolVar(&o.exact, "exact", false, "find only entries that have all words exactly as spelt, with punctuation; do not try similar words")
	f.BoolVar(&o.entries, "entries", false, "order entries by themselves, not session by session")
	f.BoolVar(&o.noFold, "no-fold", false, "show nearly identical entries one by one")
	f.BoolVar(&o.searches, "searches", false, "include entries that search tools wrote")
	f.BoolVar(&o.count, "count", false, "print how many entries match")
	f.BoolVar(&o.files, "files", false, "print the sessions that have matches, and which entries")
	cmd.MarkFlagsMutuallyExclusive("substring", "regex")
	cmd.MarkFlagsMutuallyExclusive("count", "files")
}

func (o *searchOptions) search(text string, changed func(flag string) bool) (s index.Search, err error) {
	s = index.Search{Text: text, IgnoreCase: o.ignoreCase, Exact: o.exact, AllWords: o.allWords, AsSpelt: o.app.Quiet,
		Flat: o.entries, PerSession: hitsOfSession,
		NoFold: o.noFold, Searches: o.searches, Context: o.context, Count: o.count}
	if s.Newest, err = filter.Order("--sort", o.sort); err != nil {
		return s, err
	}
	if s.Query, err = o.Query(filter.AsFlag, o.app.Now()); err != nil {
		return s, err
	}
	if s.Query.Limit, err = filter.Count("--limit", &o.limit); err != nil {
		return s, err
	}
	if _, err = filter.Count("--context", &o.context); err != nil {
		return s, err
	}
	s.Query.Phase, s.Query.After = o.anchor, o.after
	switch {
	case o.count && changed("limit"), (o.count || o.files) && (changed("context") || changed("sort") || o.noFold):
		return s, usagef("--count and --files cover all matches: they cannot be combined with -C, --sort or --no-fold, nor --count with -n")
	case o.ignoreCase && !o.substring && !o.regex:
		return s, usagef("--ignore-case needs --substring or --regex; the search for words ignores case anyway")
	case (o.exact || o.allWords || o.entries) && (o.substring || o.regex):
		return s, usagef("--exact, --all-words and --entries are for words: they cannot be combined with --substring or --regex")
	case o.substring:
		s.How = index.Substring
	case o.regex:
		s.How = index.Regexp
	}
	if o.mostSessions = -1; o.files && changed("limit") {
		o.mostSessions = o.limit
	}
	if o.files {
		s.NoFold, s.Query.Limit, s.PerSession = true, nil, 0
	}
	return s, nil
}

func (o *searchOptions) run(ctx context.Context, s index.Search) (err error) {
	if o.allTapes && o.app.tapeName != "" {
		return usagef("--tape and --all-tapes exclude each other")
	}
	o.allTapes = o.allTapes || o.app.everywhere && o.app.tapeName == ""
	tapes := func() ([]*repo.Tape, error) { return o.app.allTapes(ctx) }
	if !o.allTapes {
		t, err := o.app.openTape(ctx)
		if err != nil {
			return err
		}
		s.Tapes, tapes = []string{t.Name()}, these(t)
	}
	err = o.app.checkKnown(ctx, tapes, s.Query)
	if err != nil {
		return err
	}
	// A search is short, so the garbage collector may wait: with thousands of tapes it would run twice. In a search
	// of all workspaces it runs as usual, because reusing memory is faster than getting new memory.
	if !o.app.everywhere {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	res, err := o.find(ctx, s)
	if err == nil {
		err = o.show(ctx, s, res)
	}
	if err != nil || res.Matches > 0 || o.app.JSON || o.app.Quiet {
		return err
	}
	if words, how := s.Wider(); words != "" && o.limit != 0 {
		wider := s
		wider.Text, wider.Exact, wider.AllWords = words, false, false
		if res, err = o.find(ctx, wider); err == nil && res.Matches > 0 {
			o.app.StderrUnlessQuiet("%s: tape %ssearch %s-- %s", how, o.app.named(), o.wide(), shellWord(words))
		}
	}
	if err != nil || len(s.Query.Authors) == 0 {
		return err
	}
	s.Query.Authors = nil
	if res, err = o.find(ctx, s); err == nil && res.Matches > 0 {
		o.app.StderrUnlessQuiet("without --author, %d entries match", res.Matches)
	}
	return err
}

func (o *searchOptions) find(ctx context.Context, s index.Search) (*index.Result, error) {
	if o.allTapes && o.app.everywhere {
		return catalog.SearchAll(s, func(s index.Search, only func(dir string) bool) ([]*index.Result, error) {
			return inStores(ctx, o.app, func(ctx context.Context, store *repo.Store) (*index.Result, error) {
				if !only(o.app.workspaceOf(store)) {
					return &index.Result{Exact: true}, nil
				}
				return o.searchIn(s)(ctx, store)
			})
		})
	}
	store, err := o.app.openStore(ctx)
	if err != nil {
		return nil, err
	}
	if !o.allTapes || o.count {
		return o.searchIn(s)(ctx, store)
	}
	return withIndex(o.app, store, func(x *index.Index) (*index.Result, error) {
		res, err := x.Search(ctx, s)
		if err == nil && len(res.Hits) > 0 {
			o.facts, err = o.app.aboutIn(ctx, x, store, tapesOf(ctx, store, res.Hits))
		}
		return res, err
	})
}

// searchIn returns a function that searches a workspace.
func (o *searchOptions) searchIn(s index.Search) func(context.Context, *repo.Store) (*index.Result, error) {
	return func(ctx context.Context, store *repo.Store) (*index.Result, error) {
		res, err := withIndex(o.app, store, func(x *index.Index) (*index.Result, error) { return x.Search(ctx, s) })
		if err == nil && o.app.everywhere {
			catalog.Mark(res, store.Dir())
		}
		return res, err
	}
}
