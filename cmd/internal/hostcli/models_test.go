package hostcli

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"tape/internal/agent/models"
)

// TestModelList: a provider that lists no models is asked once for the status line, and again by a command.
func TestModelList(t *testing.T) {
	var asked atomic.Int32
	var works atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if !works.Load() {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"small","context_length":1000}]}`))
	}))
	defer server.Close()
	noEnv := func(string) string { return "" }
	s, err := models.Load(noEnv, models.Config{Model: "mine:small", BaseURLs: map[string]string{"mine": server.URL}}, "")
	if err != nil {
		t.Fatal(err)
	}
	l := &modelList{client: models.New(s), configured: []string{"mine:small"}}
	for range 3 {
		if n := l.window(t.Context(), "mine:small"); n != 0 || asked.Load() != 1 {
			t.Errorf("window %d, asked %d times; want 0, once", n, asked.Load())
		}
	}
	works.Store(true)
	list, err := l.options(t.Context(), "s")
	if err != nil || len(list) != 1 || asked.Load() != 2 {
		t.Errorf("options %v, %v, asked %d times; want one model, twice", list, err, asked.Load())
	}
	if n := l.window(t.Context(), "mine:small"); n != 1000 || asked.Load() != 2 {
		t.Errorf("window %d, asked %d times; want 1000, twice", n, asked.Load())
	}
}
