package opencode

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
)

// Programs that were made from opencode keep the same database, under their own names: Kilo Code, on the command line and,
// since 2026, in VS Code (packages/core/src/session.ts in Kilo-Org/kilocode), and MiMo Code
// (packages/opencode/src/session/session.sql.ts in XiaomiMiMo/MiMo-Code). Read from other people's descriptions:
// internal/parser/kilo.go, mimocode.go and discovery.go in kenn-io/agentsview.
var (
	Kilo     = fork("kilo", "Kilo Code")
	MiMoCode = fork("mimocode", "MiMo Code")
)

// fork returns the format of such a program. name is that of the folder, of the database, and of the member "fork" that
// write adds to a session.
func fork(name, title string) record.Format {
	mark := `{"fork":"` + name + `",`
	db := kept
	db.File = name + "*.db"
	db.All = func(user record.Where) (out []record.DatabaseFile) {
		dir := filepath.Join(cmp.Or(user.Getenv("XDG_DATA_HOME"), filepath.Join(user.Home, ".local", "share")), name)
		for _, file := range disk.Glob(dir, db.File) {
			out = append(out, record.DatabaseFile{Path: file})
		}
		return out
	}
	db.Write = func(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
		var whole bytes.Buffer
		if err := writeSession(ctx, ask, path, id, &whole); err != nil {
			return err
		}
		_, err := io.Copy(w, io.MultiReader(bytes.NewReader([]byte(mark)), bytes.NewReader(whole.Bytes()[1:])))
		return err
	}
	return record.Format{
		Name: name, Title: title, Read: Read, Describe: Describe,
		Record: func(m record.Members) record.Confidence {
			return record.Certain.If(m.Text("fork") == name && m.Has("info", "messages"))
		},
		Head:  func(head []byte) record.Confidence { return record.Certain.If(bytes.HasPrefix(head, []byte(mark))) },
		Files: record.Files{Database: &db},
	}
}
