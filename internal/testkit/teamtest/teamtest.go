// Package teamtest gives tests of the team's server a database of their own.
package teamtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"tape/internal/serve/team/db"
)

// Env is the variable with the address of a PostgreSQL in which tests make databases; make test-team sets it.
const Env = "TAPE_TEST_PG"

// Address returns the address of a new, empty database. Without PostgreSQL it skips the test.
func Address(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Env)
	if server == "" {
		t.Skip("make test-team runs this test: it needs PostgreSQL")
	}
	raw := make([]byte, 6)
	rand.Read(raw)
	name := "t_" + hex.EncodeToString(raw)
	run := func(sql string) {
		ctx := context.WithoutCancel(t.Context())
		c, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Exec(ctx, sql)
		if err := errors.Join(err, c.Close(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE DATABASE " + name)
	t.Cleanup(func() { run("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Open returns a new database with the schema.
func Open(t testing.TB) *db.DB {
	t.Helper()
	return OpenAt(t, Address(t))
}

// OpenAt connects to a database, and makes the schema if it is missing.
func OpenAt(t testing.TB, address string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), address)
	if err == nil {
		t.Cleanup(d.Close)
		_, err = d.Prepare(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}
