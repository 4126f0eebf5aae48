package secrets

import "testing"

// TestPipedPasswords: passwords that commands get from a pipe, a here-string, or between other words, and those of shares.
func TestPipedPasswords(t *testing.T) {
	s := New()
	for _, text := range []string{
		"echo zX9kQ2mfLw | docker login -u me --password-stdin reg.io", "echo 'zX9kQ2mfLw' | docker login --password-stdin", `echo "zX9kQ2mfLw"|docker login -u x --password-stdin`,
		"echo -n zX9kQ2mfLw | podman login --password-stdin", "printf '%s' zX9kQ2mfLw | docker login --password-stdin", `printf 'zX9kQ2mfLw\n' | docker login --password-stdin`,
		"docker login --password-stdin <<< zX9kQ2mfLw", "docker login --password-stdin <<<'zX9kQ2mfLw'", "echo zX9kQ2mfLw | sudo -S apt-get update", "echo zX9kQ2mfLw | gpg --batch --passphrase-fd 0 -d x",
		"echo zX9kQ2mfLw | passwd --stdin bob", "openssl enc -aes-256-cbc -in a -out b -k zX9kQ2mfLw", "openssl enc -k 'zX9kQ2mfLw' -in x",
		`net use X: \\srv\share zX9kQ2mfLw /user:CORP\bob`, `net use X: \\srv\share /user:CORP\bob zX9kQ2mfLw`, `net use \\nas\new zX9kQ2mfLw /USER:bob /persistent:yes`, `net use * \\srv\share "zX9kQ2mfLw" /user:bob`,
		`net use X: \\\\srv\\share zX9kQ2mfLw /user:bob`, `net.exe use X: \\srv\share zX9kQ2mfLw /user:bob`, "net user bob zX9kQ2mfLw /add", "smbclient //nas/share -U bob%zX9kQ2mfLw", "smbclient //nas/share -U 'CORP/bob%zX9kQ2mfLw'",
	} {
		if found := s.Text([]byte(text)); len(found) != 1 || found[0].Rule != ruleCommand || found[0].Fingerprint != fingerprint(ruleCommand, []byte("zX9kQ2mfLw")) {
			t.Errorf("found %q in %q, want the password", rulesOf(found), text)
		}
	}
	for _, text := range []string{"openssl rsa -in k.pem -passin pass:zX9kQ2mfLw", "openssl enc -d -pass pass:zX9kQ2mfLw -in x", "openssl pkcs12 -export -passout 'pass:zX9kQ2mfLw'",
		"smb://bob:zX9kQ2mfLw@nas/share", "smb://CORP;bob:zX9kQ2mfLw@nas/share", `smb://CORP\bob:zX9kQ2mfLw@nas/share`, "ftp://bob:hunter2@files.corp.net/x", "ftps://deploy:zX9kQ2mfLw@10.1.2.3/x"} {
		if found := s.Text([]byte(text)); len(found) != 1 {
			t.Errorf("found %q in %q, want one secret", rulesOf(found), text)
		}
	}
	for _, text := range []string{
		"echo $TOKEN2 | docker login --password-stdin", "echo password | docker login --password-stdin", "echo <password> | docker login --password-stdin", "echo example | docker login --password-stdin",
		"echo xxx | docker login --password-stdin", "echo \"$(cat pw2)\" | docker login --password-stdin", "cat pw2.txt | docker login --password-stdin", "docker login --password-stdin < pw2.txt",
		"aws ecr get-login-password --region eu-west-1 | docker login --username AWS --password-stdin 1234.dkr.ecr", "gh auth login --with-token < mytoken2.txt", "echo build42x9 | git hash-object -w --stdin", "echo zX9kQ2mfLw | tee x",
		"openssl req -x509 -keyout key2x.pem -k", "openssl x509 -key k3yfile9.pem", "openssl enc -k example -in x", "openssl enc -k $PASS2", "openssl enc -k <password> -in x", "openssl enc -pass pass:xxx", "openssl enc -pass pass:$VAR",
		"openssl enc -pass env:PASS2", `net use X: \\srv\share * /user:bob`, `net use X: \\srv2\share2 /user:bob`, `net use X: \\srv\share <password> /user:bob`, `net use X: \\srv\share %PASS2% /user:bob`, `net use X: \\srv\share example /user:b`,
		"net user growth was 5% in q3x9 2024", "net users like it2much", "smb://user:password@host", "smb://bob@nas/share", "smb://user:pass@host/x", "ftp://u:p@host", "ftp://user:$PASS@host/x", "ftp://user:xxx@host.net/x",
		"smb://user:<password>@nas.corp/x", "smb://bob:example@nas.corp/x", "smbclient //nas/share -U bob", "smbclient //nas/share -U bob%password", "sudo -s", "sudo -S", "echo done | sudo -S true",
	} {
		if found := s.Text([]byte(text)); len(found) > 0 {
			t.Errorf("found %q in %q, want nothing", rulesOf(found), text)
		}
	}
}
