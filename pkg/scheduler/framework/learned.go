package framework

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an API object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Learned returns an empty object of each kind that plugins are told of; see [Learns].
func Learned() []Object {
	return []Object{
		&corev1.Namespace{}, &corev1.ResourceQuota{}, &policyv1.PodDisruptionBudget{},
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}, &storagev1.StorageClass{},
		&storagev1.CSINode{}, &storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
		&resourcev1.ResourceClaim{}, &resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{},
	}
}
