package procplugin

import (
	"testing"

	"tape/repo"
)

func initStore(t *testing.T) *repo.Store {
	t.Helper()
	store, _, err := repo.Init(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
