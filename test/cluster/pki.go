package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// authority signs the certificates of one cluster. Its key stays in the state folder.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

// lifetime of all certificates. Operators replace their own when it ends within 90 days.
const lifetime = 365 * 24 * time.Hour

// writePKI makes an authority, the API server's certificate, the key of service
// accounts, and a kubeconfig for each user. All files are for the owner only.
func (c *Cluster) writePKI() error {
	key, err := newKey()
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	ca, err := newAuthority("muster-test-ca", key)
	if err != nil {
		return fmt.Errorf("make certificate authority: %w", err)
	}
	server, err := ca.issue(pkix.Name{CommonName: "kube-apiserver"}, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return fmt.Errorf("issue the API server's certificate: %w", err)
	}
	accounts, err := ca.issue(pkix.Name{CommonName: "service-accounts"})
	if err != nil {
		return fmt.Errorf("make the service accounts' key: %w", err)
	}
	caKey, err := keyPEM(ca.key)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt": ca.pem, "ca.key": caKey,
		"server.crt": server.cert, "server.key": server.key, "sa.key": accounts.key,
	} {
		if err := os.WriteFile(c.file(name), data, 0o600); err != nil {
			return fmt.Errorf("write certificate: %w", err)
		}
	}
	c.kubeconfig = c.file("kubeconfig")
	if err := c.writeKubeconfig(ca, c.kubeconfig, pkix.Name{CommonName: "muster-admin", Organization: []string{"system:masters"}}); err != nil {
		return err
	}
	return c.writeKubeconfig(ca, c.file("controller-manager.kubeconfig"), pkix.Name{CommonName: "system:kube-controller-manager"})
}

func (c *Cluster) writeKubeconfig(ca *authority, path string, user pkix.Name) error {
	client, err := ca.issue(user)
	if err != nil {
		return fmt.Errorf("issue certificate of %s: %w", user.CommonName, err)
	}
	const name = "muster"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: local("https", c.ports.api), CertificateAuthorityData: ca.pem}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newAuthority(name string, key crypto.Signer) (*authority, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(lifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// issue makes a certificate for a client or, given names, for a server of these names on loopback.
func (a *authority) issue(subject pkix.Name, names ...string) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(names) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
		template.DNSNames = names
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	text, err := keyPEM(key)
	if err != nil {
		return pair{}, err
	}
	return pair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: text}, nil
}

func keyPEM(key crypto.Signer) ([]byte, error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("encode key: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
	default:
		return nil, fmt.Errorf("encode key: %T is not supported", key)
	}
}
