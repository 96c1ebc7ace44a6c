/* Kernels that nvcc compiled: a program holds them and registers them when it
 * is loaded; the device double cannot run them. */

#include <cuda_runtime_api.h>

#include "tests/emulator/double_private.h"

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device,
                            const char *name, int limit, void *thread,
                            void *block, void *dim, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device,
                       const char *name, int external, size_t size,
                       int constant, int global);
unsigned __cudaPushCallConfiguration(void);
cudaError_t __cudaPopCallConfiguration(void);
cudaError_t __cudaGetKernel(void);
cudaError_t __cudaLaunchKernel(void);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;

    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void) handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void) handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device,
                            const char *name, int limit, void *thread,
                            void *block, void *dim, void *grid, int *warp)
{
    (void) handle, (void) host, (void) device, (void) name, (void) limit;
    (void) thread, (void) block, (void) dim, (void) grid, (void) warp;
}

void __cudaRegisterVar(void **handle, char *host, char *device,
                       const char *name, int external, size_t size,
                       int constant, int global)
{
    (void) handle, (void) host, (void) device, (void) name, (void) external;
    (void) size, (void) constant, (void) global;
}

__attribute__((noreturn)) static void no_kernels(void)
{
    mtlm_double_wrong(
        "a kernel that nvcc compiled; tests/emulator/mtlm-dag runs them");
}

unsigned __cudaPushCallConfiguration(void)
{
    no_kernels();
}

cudaError_t __cudaPopCallConfiguration(void)
{
    no_kernels();
}

cudaError_t __cudaGetKernel(void)
{
    no_kernels();
}

cudaError_t __cudaLaunchKernel(void)
{
    no_kernels();
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *kernel, void **args)
{
    (void) config, (void) kernel, (void) args;
    no_kernels();
}
