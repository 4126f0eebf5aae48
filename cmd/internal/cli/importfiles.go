package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/cmd/internal/agentside"
	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

// isFile reports whether name is an existing file or folder, or - for standard input.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil || name == "-"
}

// agents returns the formats of the agents whose transcripts are looked for.
func (o *importOptions) agents() importer.Formats {
	if o.format != importer.Auto {
		return importer.Formats{importer.All().Find(o.format)}
	}
	return importer.All().WithFolders()
}

// discover finds the transcripts of this project, and lists them.
func (o *importOptions) discover(ctx context.Context) error {
	project, err := o.project()
	if err != nil {
		return err
	}
	agents := o.agents()
	var found []string
	for _, agent := range agents {
		files, err := importer.Discover(ctx, agent, project, o.app.Getenv)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the sessions of other agents are imported
			o.app.StderrUnlessQuiet("left out: %v", err)
		}
		found = append(found, display.CountList(len(files), "transcript of "+agent.Name, "transcripts of "+agent.Name)...)
		o.files = append(o.files, files...)
	}
	if len(found) == 0 {
		return o.nothingHere(ctx, project, agents)
	}
	o.app.StderrUnlessQuiet("found %s, of sessions in %s", strings.Join(found, ", "), agentside.ShortPath(&o.app.Streams, project, 0))
	return nil
}

// toTheirTapes imports the sessions that go on with a tape of another workspace of the user's: that is where they belong,
// in whichever directory tape resume --in has begun them. The other ones stay in o.files.
func (o *importOptions) toTheirTapes(ctx context.Context, m *agentside.Import) error {
	if o.app.workspaceDir() != "" || m.Options.Tape != "" {
		return nil
	}
	others := projects.Continued()
	if here, err := repo.Find("."); err == nil {
		delete(others, here)
	}
	if len(others) == 0 {
		return nil
	}
	files := map[string][]string{}
	o.files = slices.DeleteFunc(o.files, func(file string) bool {
		info, err := importer.Identify(ctx, file)
		for in, list := range others {
			if err == nil && info.Session != "" && slices.ContainsFunc(list, func(s projects.ContinuedSession) bool { return s.ID == info.Session }) {
				files[in] = append(files[in], file)
				return true
			}
		}
		return false
	})
	for in, list := range files {
		store, err := repo.Open(ctx, in, o.app.storeOptions())
		if err != nil {
			return err
		}
		theirs := &agentside.Import{Streams: m.Streams, Version: m.Version, Source: m.Source, Options: m.Options, Found: true}
		if err := theirs.Files(ctx, store, list); err != nil {
			return err
		}
		m.Failed = append(m.Failed, theirs.Failed...)
		tidy(ctx, store)
	}
	return nil
}

// project returns the current directory, or the one above it that the workspace belongs to.
func (o *importOptions) project() (string, error) {
	here, err := workspace.Absolute(".")
	if err != nil {
		return "", err
	}
	found, err := repo.Find(here)
	for at := here; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
		if w, err := repo.WorkspaceFor(at); err == nil && w == found {
			return at, nil
		}
	}
	return here, nil
}
