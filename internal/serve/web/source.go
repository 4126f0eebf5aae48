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

// Source has the sessions that one page shows. Workspaces are a source; for a team's server each user has one.
type Source interface {
	// Places returns where sessions can be: the workspaces, or the remotes.
	Places() Places
	// List returns the sessions that are wanted, those with the newest entries first.
	List(ctx context.Context, w Wanted) (*Listing, error)
	// Activity sums what was done by day.
	Activity(ctx context.Context, since time.Time) ([]*index.Work, error)
	// Search finds entries.
	Search(ctx context.Context, q index.Search, only Only) (*Found, error)

	// Tape looks up a session of the page's place. Errors: ErrNotFound.
	Tape(ctx context.Context, name string) (Tape, error)
	// Open is Tape for somebody who reads the session.
	Open(ctx context.Context, name string) (Tape, error)
	// About returns what a session is about, or the zero value if finding out takes long.
	About(t Tape) about.Tape
	// Subagents are the sessions that this one started, in the order of their beginnings.
	Subagents(ctx context.Context, t Tape) []about.Tape
	// From yields the entries of a session from an id on.
	From(ctx context.Context, t Tape, id int64) iter.Seq2[repo.Entry, error]
	// Containing returns the ids of the entries of a session that contain a text, at most as many as given, sorted.
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

// Wanted says which sessions are listed.
type Wanted struct {
	Agent, Project, Person string // whole names; "" means all
	Text                   string // a part of a title, name or project
	Since                  time.Time
	Day                    [2]time.Time // begin and end; zero means all
	From, Most             int          // skip so many sessions, then list at most so many
}

// Listing is a page of sessions.
type Listing struct {
	Tapes                    []*Listed
	All                      int // how many are wanted, on all pages
	From                     int // how many are on pages before
	Agents, Projects, People []string
}

// Only says where a search looks.
type Only struct{ Agent, Project, Tape string }

// Found is what a search found.
type Found struct {
	*index.Result                       // a hit's Workspace is the prefix of its links
	About         map[string]about.Tape // by the links of sessions
	More          bool                  // facets do not count all
}
