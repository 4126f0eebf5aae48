package web

import (
	"context"
	"iter"
	"time"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/prices"
	"tape/repo"
)

// Source has the sessions that one page shows: those of workspaces, or those that a user of a team's server may see.
type Source interface {
	// Places returns where sessions can be: the workspaces, or the remotes.
	Places() Places
	// List returns the sessions that are wanted, those with the newest entries first.
	List(ctx context.Context, w ListQuery) (*Listing, error)
	// Activity sums what was done on each day since a time.
	Activity(ctx context.Context, since time.Time) ([]*index.Work, error)
	// Search finds entries.
	Search(ctx context.Context, q index.Search, only Only) (*Found, error)

	// Tape looks up a session of the page's place. Errors: ErrNotFound, also if a team's page is for all remotes.
	Tape(ctx context.Context, name string) (Tape, error)
	// Open is Tape for a page that shows the session's entries: a team's server records that it was read.
	Open(ctx context.Context, name string) (Tape, error)
	// About returns what a session is about, or the zero value if finding out fails or takes long.
	About(t Tape) about.Tape
	// Subagents are the sessions that this one started, in the order of their beginnings.
	Subagents(ctx context.Context, t Tape) []about.Tape
	// From yields the entries of a session from an id on.
	From(ctx context.Context, t Tape, id int64) iter.Seq2[repo.Entry, error]
	// Containing returns the ids of the entries of a session that contain a text, in ascending order, at most most.
	Containing(ctx context.Context, t Tape, text string, most int) ([]int64, error)
	// Prices are what models cost.
	Prices() prices.List
	// Continue returns the commands that continue a session; nil if the page shows none.
	Continue(t Tape) []string
}

// Tape is a session to be read. A *repo.Tape is one.
type Tape interface {
	Name() string
	IsFork() bool
	Parent() string
	Info(ctx context.Context) (repo.Info, error)
	Phases(ctx context.Context) ([]repo.Phase, error)
	Entries(ctx context.Context, q repo.Query) iter.Seq2[repo.Entry, error]
	Show(ctx context.Context, target string) iter.Seq2[repo.Entry, error]
}

// Places are the workspaces or remotes that sessions are in.
type Places struct {
	Here string // the one that the page shows; "" means all
	All  string // what all of them together are called
	List []Place
}

// Place is a workspace or a remote. Its pages are below /w/ADDRESS/.
type Place struct{ Address, Name string }

// ListQuery says which sessions are listed.
type ListQuery struct {
	Agent, Project, Person string       // whole names; "" means all
	Tag                    string       // "" means all
	Starred                bool         // only those with a star
	Text                   string       // a part of a title, name or project, for workspaces also of a git branch; ignoring case
	Since                  time.Time    // of the last entry; zero means all
	Day                    [2]time.Time // begin and end of the day; zero means all days
	From, Most             int          // skip From sessions, then list at most Most
}

// Listing is a page of sessions.
type Listing struct {
	Tapes                    []*ListedSession
	All                      int // how many sessions are wanted, on all pages
	From                     int // how many are on the pages before
	Agents, Projects, People []string
	Tags                     []string
	Stars                    bool // a session has a star
}

// Only limits a search to the sessions with these values; "" means any.
type Only struct{ Agent, Project, Tape string }

// Found is what a search found.
type Found struct {
	*index.Result                       // a hit's Workspace is the prefix of its links
	About         map[string]about.Tape // by the links to sessions
	More          bool                  // there are hits that the facets do not count
}
