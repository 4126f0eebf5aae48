package db

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tape/internal/store/layout"
)

// tokenPrefix begins every token, so that scanners for secrets can recognise one.
const tokenPrefix = "tape_team_"

// Token describes a token. Its text is not stored: it is shown once, when the token is made.
type Token struct {
	Name    string
	Groups  []string
	Created time.Time
	Expires time.Time
	Revoked *time.Time // nil: it was not
	Used    *time.Time // when it was last used, accurate to a minute; nil: never
}

// Valid reports whether a token is valid at a time.
func (t Token) Valid(now time.Time) bool { return t.Revoked == nil && now.Before(t.Expires) }

// hashOf returns the SHA-256 of a token.
func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// AddToken makes a token of 256 bits, and returns its text. Only its hash is stored. Errors: ErrConflict if a
// valid or expired token has the name.
func (d *DB) AddToken(ctx context.Context, name string, groups []string, now, expires time.Time) (token string, err error) {
	raw := make([]byte, 32)
	rand.Read(raw)
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	_, err = d.pool.Exec(ctx, `INSERT INTO tokens (hash, name, groups, created, expires) VALUES ($1, $2, $3, $4, $5)`,
		hashOf(token), name, groups, now, expires)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return "", layout.Conflict("", "there is a token called %s already", name).Try(layout.RevokeToken, name)
	}
	return token, inWords(err)
}

// Tokens lists all tokens, the newest first.
func (d *DB) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := d.pool.Query(ctx, `SELECT name, groups, created, expires, revoked, used FROM tokens WHERE NOT starts_with(name, $1) ORDER BY created DESC, name`, loginPrefix)
	if err != nil {
		return nil, inWords(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Token])
	return out, inWords(err)
}

// Revoke makes a token void. Errors: ErrNotFound if there is none, or it was revoked.
func (d *DB) Revoke(ctx context.Context, name string, now time.Time) error {
	tag, err := d.pool.Exec(ctx, `UPDATE tokens SET revoked = $2 WHERE name = $1 AND revoked IS NULL`, name, now)
	if err == nil && tag.RowsAffected() == 0 {
		return layout.NotFound("", "there is no valid token called %s", name).Try(layout.ListTokens)
	}
	return inWords(err)
}

// loginPrefix begins the names of logins, which are kept beside the tokens, so that they can end. No token has such a name.
const loginPrefix = "login:"

// AddLogin records a login of a browser. id is a text that nobody can guess. Logins that are over are removed.
func (d *DB) AddLogin(ctx context.Context, id, who string, groups []string, now, expires time.Time) error {
	_, err := d.pool.Exec(ctx, `WITH over AS (DELETE FROM tokens WHERE starts_with(name, $6) AND expires < $4)
		INSERT INTO tokens (hash, name, groups, created, expires) VALUES ($1, $2, $3, $4, $5)`,
		hashOf(id), loginPrefix+short(who)+":"+hex.EncodeToString(hashOf(id)[:8]), append([]string{}, groups...), now, expires, loginPrefix)
	return inWords(err)
}

// HasLogin reports whether a login goes on.
func (d *DB) HasLogin(ctx context.Context, id string, now time.Time) (ok bool, err error) {
	err = d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tokens WHERE hash = $1 AND starts_with(name, $3) AND revoked IS NULL AND expires > $2)`, hashOf(id), now, loginPrefix).Scan(&ok)
	return ok, inWords(err)
}

// EndLogin ends a login, if it goes on.
func (d *DB) EndLogin(ctx context.Context, id string) error {
	_, err := d.pool.Exec(ctx, `DELETE FROM tokens WHERE hash = $1 AND starts_with(name, $2)`, hashOf(id), loginPrefix)
	return inWords(err)
}

// ErrToken is the error for a token that is unknown, expired or revoked. It does not say which of these.
var ErrToken = errors.New("the token is unknown, expired or revoked")

// TokenOf describes a valid token, and records its use. Errors: ErrToken.
func (d *DB) TokenOf(ctx context.Context, token string, now time.Time) (Token, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return Token{}, ErrToken
	}
	rows, err := d.pool.Query(ctx, `SELECT name, groups, created, expires, revoked, used FROM tokens WHERE hash = $1`, hashOf(token))
	if err != nil {
		return Token{}, inWords(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Token])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return t, ErrToken
	case err != nil:
		return t, inWords(err)
	case !t.Valid(now):
		return t, ErrToken
	}
	if t.Used == nil || now.Sub(*t.Used) > time.Minute {
		_, err = d.pool.Exec(ctx, `UPDATE tokens SET used = $2 WHERE hash = $1`, hashOf(token), now)
	}
	return t, inWords(err)
}
